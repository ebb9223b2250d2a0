"""Scan the entries of a tree in key order, range by range."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.cursor import TreeCursor
from graveler_core.committed.trees import Trees, read_range
from graveler_core.model.ids import MetarangeId
from graveler_core.model.key_intervals import key_interval


def scan(
    trees: Trees, metarange: MetarangeId, *, prefix: bytes = b"", start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.Table]:
    """Yield the entries whose keys begin with `prefix`, with `start` ≤ key < `end` (`None`: no end).

    The iterator is lazy: it yields tables in `ENTRY_SCHEMA`, not empty, one range each, and reads a range when its
    table is requested.

    Raises:
        CorruptData: A node or range on the path is missing or damaged.
    """
    first, last = key_interval(prefix, start, end)
    for row in TreeCursor(trees, metarange, first, last).ranges():
        entries = read_range(trees, row).between(first, last)
        if entries.num_rows:
            yield entries
