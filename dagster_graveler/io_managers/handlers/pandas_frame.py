"""DataFrames of pandas."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds

from dagster_graveler.io_managers.handlers.arrow import ArrowHandler


class PandasHandler(ArrowHandler[pd.DataFrame]):
    """`pandas.DataFrame`. Another index than the default one is stored as columns, and restored."""

    def reader(self, value: pd.DataFrame, scratch: Path) -> pa.RecordBatchReader:
        """Return the rows of a DataFrame."""
        return pa.Table.from_pandas(value).to_reader()

    def value(self, dataset: ds.Dataset) -> pd.DataFrame:
        """Return all rows as a DataFrame."""
        return dataset.to_table().to_pandas()
