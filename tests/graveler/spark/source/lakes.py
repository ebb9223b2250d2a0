"""Repositories to read from Spark: what they hold, and the options that name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from graveler_core.facade.repository import Repository
from graveler_core.model.clock import RandomIds

COUNT = 60_000
Read = Callable[..., DataFrame]


class SixRanges(RandomIds):
    """Cuts the entries of the lake into six ranges, of 5,500 to 14,000 each."""

    def seed(self) -> int:
        return 45


@dataclass(frozen=True)
class Lake:
    """A store with a repository `lake`. At `v1`: 60,000 entries; at `main`: a few changes, of which some are staged."""

    url: str
    repo: Repository

    def options(self, **options: Any) -> dict[str, str]:
        """Options of a read; a trailing `_` is dropped from names."""
        given = {name.rstrip("_"): str(value) for name, value in options.items()}
        return {"store": self.url, "repository": "lake", **given}


def table(paths: list[str], size: int = 0) -> pa.Table:
    """Entries of these paths."""
    columns = {
        "key": paths,
        "address": [f"data/{size}/{path}" for path in paths],
        "size": pa.array(range(size, size + len(paths)), pa.int64()),
        "checksum": [f"sum-{size}-{n}" for n in range(len(paths))],
    }
    return pa.table(columns)
