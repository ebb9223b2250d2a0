"""Scan the entries of an index in key order."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed import scan as tree
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import layers
from graveler_core.model.index import Index
from graveler_core.model.key_intervals import key_interval
from graveler_core.segments.streams import overlaid_by_tables


def scan(  # noqa: PLR0913 - a key interval in two forms
    indexes: Indexes,
    index: Index,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
    few: int | None = None,
) -> Iterator[pa.Table]:
    """Yield the entries whose keys begin with `prefix`, with `start` ≤ key < `end` (`None`: no end).

    The iterator is lazy: it yields tables in `ENTRY_SCHEMA`, not empty, and reads a range when its entries are
    requested. `few` is the number of entries that is probably enough.

    Raises:
        CorruptData: An object of the index that had to be read is missing or damaged.
    """
    first, last = key_interval(prefix, start, end)
    below = tree.scan(indexes.trees, index.metarange_id, start=first, end=last)
    above = [layer.searchable for layer in layers(indexes, index)]
    yield from overlaid_by_tables(above, below, (first, last), few) if above else below
