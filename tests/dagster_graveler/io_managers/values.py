"""Values of each type that `GravelerIOManager` stores, made of rows and turned back into rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

Rows = list[tuple[Any, ...]]


@dataclass(frozen=True)
class Kind:
    """A type of tables."""

    type: Any
    make: Callable[[pa.Table], Any]
    """Make a value of a table."""
    table: Callable[[Any], pa.Table]
    """Turn a value into a table."""

    def rows(self, value: Any) -> Rows:
        return sorted(tuple(row.values()) for row in self.table(value).to_pylist())


KINDS = {
    "table": Kind(pa.Table, lambda table: table, lambda value: value),
    "reader": Kind(
        pa.RecordBatchReader, lambda table: table.to_reader(max_chunksize=2), lambda value: value.read_all()
    ),
    "dataset": Kind(ds.Dataset, ds.dataset, lambda value: value.to_table()),
    "pandas": Kind(pd.DataFrame, lambda table: table.to_pandas(), pa.Table.from_pandas),
    "polars": Kind(pl.DataFrame, pl.from_arrow, lambda value: value.to_arrow()),
    "lazy": Kind(pl.LazyFrame, lambda table: pl.from_arrow(table).lazy(), lambda value: value.collect().to_arrow()),
    "duckdb": Kind(duckdb.DuckDBPyRelation, duckdb.from_arrow, lambda value: value.to_arrow_table()),
}


def letters(*rows: tuple[str, int]) -> pa.Table:
    """A table of letters and numbers."""
    columns = list(zip(*rows, strict=True)) or [(), ()]
    return pa.table({"letter": pa.array(columns[0], pa.string()), "n": pa.array(columns[1], pa.int64())})
