"""Functions that the lakes of these tests name."""

from collections.abc import Iterator

import dagster as dg
import numpy as np
import polars as pl

ROWS: dict[str, list[int | None]] = {}
"""Ids that `orders` delivers in the next run; by default 1 and 2."""
NOT_A_FUNCTION = 1


def orders() -> pl.DataFrame:
    """Orders, as they were delivered."""
    return pl.DataFrame({"id": ROWS.get("orders", [1, 2])}, schema={"id": pl.Int64})


def totals(context: dg.AssetExecutionContext, rows: pl.DataFrame) -> pl.DataFrame:
    context.log.info("totals")
    return rows.select(pl.col("id").sum().alias("total"))


def months(context: dg.AssetExecutionContext) -> pl.DataFrame:
    return pl.DataFrame({"loaded": [context.partition_key]})


def few(rows: pl.DataFrame) -> bool:
    return rows.height < 5


def measured(rows: pl.DataFrame) -> dg.AssetCheckResult:
    return dg.AssetCheckResult(passed=True, metadata={"height": rows.height})


def numpy_few(rows: pl.DataFrame) -> np.bool_:
    return np.array([rows.height < 5]).all()


def lines(rows: pl.DataFrame) -> list[str]:
    return [f"{rows.height} rows are too few"]


async def later(rows: pl.DataFrame) -> bool:
    return rows.height < 5


def generated(rows: pl.DataFrame) -> Iterator[bool]:
    yield rows.height < 5
