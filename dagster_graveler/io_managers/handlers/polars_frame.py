"""DataFrames and LazyFrames of polars."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds

from dagster_graveler.io_managers.handlers.arrow import ArrowHandler


class PolarsHandler(ArrowHandler[pl.DataFrame]):
    """`polars.DataFrame`."""

    def reader(self, value: pl.DataFrame, scratch: Path) -> pa.RecordBatchReader:
        """Return the rows of a DataFrame."""
        return value.to_arrow(compat_level=pl.CompatLevel.oldest()).to_reader()

    def value(self, dataset: ds.Dataset) -> pl.DataFrame:
        """Return all rows as a DataFrame."""
        return cast(pl.DataFrame, pl.from_arrow(dataset.to_table()))


class LazyPolarsHandler(ArrowHandler[pl.LazyFrame]):
    """`polars.LazyFrame`. It is executed by the streaming engine, and never held in memory as a whole."""

    def reader(self, value: pl.LazyFrame, scratch: Path) -> pa.RecordBatchReader:
        """Execute a LazyFrame, and return its rows."""
        result = scratch / "result.parquet"
        value.sink_parquet(result, compression="lz4")
        return ds.dataset(result).scanner().to_reader()

    def value(self, dataset: ds.Dataset) -> pl.LazyFrame:
        """Return a LazyFrame that reads files when they are needed."""
        return pl.scan_pyarrow_dataset(dataset)
