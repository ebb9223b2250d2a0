"""Entries of a tree in key order, range by range."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.cursor import Cursor
from graveler_core.committed.trees import Trees, read_range
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.sorted_keys import between, prefix_end


def scan(
    trees: Trees, metarange: MetarangeId, *, prefix: bytes = b"", start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.Table]:
    """The entries that begin with `prefix`, with `start` ≤ key < `end` (None: no end).

    Lazy: tables in `ENTRY_SCHEMA`, none empty, one range each; a range is read when its table is asked for.

    Raises:
        CorruptData: a node or range on the way is missing or damaged.
    """
    first, last = key_interval(prefix, start, end)
    for row in Cursor(trees, metarange, first, last).ranges():
        entries = between(read_range(trees, row), first, last)
        if entries.num_rows:
            yield entries


def key_interval(prefix: bytes, start: bytes = b"", end: bytes | None = None) -> tuple[bytes, bytes | None]:
    """First key and end (exclusive, None: no end) of the keys that begin with `prefix`, from `start`, before `end`."""
    last = prefix_end(prefix)
    if last is None or (end is not None and end < last):
        last = end
    return max(prefix, start), last
