"""Moves a cut, which was planned by guess, to where a range of the new tree ends: the parts that meet there are closed.

Whoever works on a part closes both of its cuts, and so each cut is closed twice, by neighbours that know nothing of
each other. They come to the same key: the first primary boundary key behind the cut of what the changes make of the
base. That is the first boundary key that is put, or the first edge of a range of the base that is not removed. No
range is read for it, and of the changes those up to that key: in the mean as many as a range has entries.

Where neighbours saw different changes (a late write into a sealed token), they may come to different keys, and
`committed.parts.assemble` says so. Nothing is looked for behind the next cut, nor among more than some ranges' worth of
changes: the cut stays open then, which costs whoever assembles a range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from graveler_core.committed.cursor import Cursor
from graveler_core.committed.interval import Cut, Interval
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash, primary_ends
from graveler_core.segments.sorted_keys import KEY, between

LOOKED_AT_MEANS = 16
"""Changes, in mean sizes of a range, among which a boundary is looked for. One in nine million is further away."""


def closed(trees: Trees, base: MetarangeId | None, changes: Iterable[pa.Table], behind: Interval) -> Cut | None:
    """The cut that an interval begins with, moved to the first primary boundary key in it; as it is where none is near.

    Args:
        trees: The repository's trees.
        base: The tree that is changed; None: no entries.
        changes: Those of the interval: sorted tables in `RECORD_SCHEMA`.
        behind: The interval. One that begins with the first key needs no cut: None.

    Raises:
        CorruptData: a node of the base is missing or damaged.
    """
    if behind.after is None:
        return None
    edges = iter(()) if base is None else _edges(trees, base, behind)
    edge = next(edges, None)
    looked_at = 0
    for table in (small for large in changes for small in _slices(trees, large)):
        put, last = _first_put(trees, table), table.column(KEY)[-1].as_py()
        while edge is not None and edge <= (last if put is None else put):
            if not _removes(table, edge):
                return Cut(edge, closed=True)
            edge = next(edges, None)
        if put is not None:
            return Cut(put, closed=True)
        looked_at += table.num_rows
        if looked_at >= LOOKED_AT_MEANS * trees.cutting.mean_entries:
            return behind.after
    return behind.after if edge is None else Cut(edge, closed=True)


def _edges(trees: Trees, base: MetarangeId, within: Interval) -> Iterator[bytes]:
    """The primary boundary keys of the base in an interval."""
    threshold = trees.cutting.threshold()
    for row in Cursor(trees, base, within.start, within.end).ranges():
        inside = within.end is None or row.max_key < within.end
        if inside and key_hash(row.max_key, trees.boundary_seed) < threshold:
            yield row.max_key


def _slices(trees: Trees, table: pa.Table) -> Iterator[pa.Table]:
    """A table in slices about as large as the next boundary is far."""
    rows = trees.cutting.mean_entries
    return (table.slice(at, rows) for at in range(0, table.num_rows, rows))


def _first_put(trees: Trees, changes: pa.Table) -> bytes | None:
    """The first primary boundary key that changes put."""
    ends = primary_ends(changes.column(KEY), trees.boundary_seed, trees.cutting)
    puts = ends[~changes.column(TOMBSTONE).to_numpy()[ends - 1]]
    key: bytes | None = changes.column(KEY)[int(puts[0]) - 1].as_py() if len(puts) else None
    return key


def _removes(changes: pa.Table, key: bytes) -> bool:
    found = between(changes, key, key + b"\0")
    return bool(found.num_rows) and bool(found.column(TOMBSTONE)[0].as_py())
