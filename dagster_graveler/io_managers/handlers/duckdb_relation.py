"""Relations of DuckDB."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds

from dagster_graveler.io_managers.handlers.arrow import ArrowHandler


class DuckDBHandler(ArrowHandler[duckdb.DuckDBPyRelation]):
    """`duckdb.DuckDBPyRelation`. Relations are loaded into the default connection, so that queries can join them."""

    def reader(self, value: duckdb.DuckDBPyRelation, scratch: Path) -> pa.RecordBatchReader:
        """Execute a relation, and return its rows."""
        return value.to_arrow_reader()

    def value(self, dataset: ds.Dataset) -> duckdb.DuckDBPyRelation:
        """Return a relation that reads files when they are needed."""
        return duckdb.from_arrow(dataset)
