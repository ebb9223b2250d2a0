"""Small tables read for display, without Spark: starting a session costs more than reading them."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from graveler_core.facade.snapshot import Snapshot


def read_small_table(at: Snapshot, path: str) -> pl.DataFrame:
    """All rows of the table at `path` as it is at a snapshot; an empty frame if there is none. Reads it whole."""
    import polars as pl

    files = [io.BytesIO(at.read(entry.path)) for entry in at.list(f"{path}/")]
    return pl.concat([pl.read_parquet(f) for f in files]) if files else pl.DataFrame()
