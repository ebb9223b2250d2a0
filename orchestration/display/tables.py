"""Small tables for display, read without Spark, because starting a session costs more than reading them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from graveler_core.facade.snapshot import Snapshot


def read_small_table(at: Snapshot, path: str) -> pl.DataFrame:
    """Return all rows of the table at `path` in a snapshot, or an empty frame if it does not exist. Reads the whole
    table.
    """
    import polars as pl

    files = [io.BytesIO(at.read(entry.path)) for entry in at.list(f"{path}/")]
    return pl.concat([pl.read_parquet(f) for f in files]) if files else pl.DataFrame()
