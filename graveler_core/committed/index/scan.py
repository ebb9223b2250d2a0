"""Scan the entries of an index in key order."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed import scan as tree
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import layers
from graveler_core.model.index import Index
from graveler_core.model.key_intervals import key_interval
from graveler_core.segments.sorted_keys import between
from graveler_core.segments.streams import merge, overlaid


def scan(
    indexes: Indexes, index: Index, *, prefix: bytes = b"", start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.Table]:
    """Yield the entries whose keys begin with `prefix`, with `start` ≤ key < `end` (`None`: no end).

    The iterator is lazy: it yields tables in `ENTRY_SCHEMA`, not empty, and reads a range when its entries are
    requested.

    Raises:
        CorruptData: An object of the index that had to be read is missing or damaged.
    """
    first, last = key_interval(prefix, start, end)
    below = tree.scan(indexes.trees, index.metarange_id, start=first, end=last)
    pieces = [between(layer.table, first, last) for layer in layers(indexes, index)]
    above = [piece for piece in pieces if piece.num_rows]
    yield from overlaid(merge([iter([piece]) for piece in above]) if above else iter(()), below)
