"""Move an estimated split point to the end of a range of the new tree, so that the partitions that meet there are
closed.

The task of a partition aligns both of its split points. So each split point is aligned twice, by two tasks that do
not communicate. Both find the same key: the first primary boundary key after the split point in the result of the
changes. That is the first boundary key that a change puts, or the first end of a range of the base that is not
removed. No range is read for this, and only the changes up to that key are: on average, as many as a range has
entries.

If the two tasks were given different changes (after a late write to a sealed token), they may find different keys.
Then `committed.partitioned_build.assemble` raises an error. The search stops at the next split point, or after
`LOOKED_AT_MEANS` mean ranges of changes. The split point then stays open, and `assemble` has to build one more range.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from graveler_core.committed.cursor import TreeCursor
from graveler_core.committed.split_points import Partition, SplitPoint
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash, primary_ends
from graveler_core.segments.sorted_keys import KEY, between

LOOKED_AT_MEANS = 16
"""Number of changes to search for a boundary, in mean range sizes. One boundary in nine million is further away."""


def closed(trees: Trees, base: MetarangeId | None, changes: Iterable[pa.Table], behind: Partition) -> SplitPoint | None:
    """Return the split point at which a partition begins, moved to the partition's first primary boundary key. If none
    is near, return it unchanged.

    Args:
        trees: The repository's trees.
        base: The tree to change; `None` for no entries.
        changes: Changes of the partition: sorted tables in `RECORD_SCHEMA`.
        behind: The partition. If it begins at the first key, it has no split point, and the result is `None`.

    Raises:
        CorruptData: A node of the base is missing or damaged.
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
                return SplitPoint(edge, closed=True)
            edge = next(edges, None)
        if put is not None:
            return SplitPoint(put, closed=True)
        looked_at += table.num_rows
        if looked_at >= LOOKED_AT_MEANS * trees.cutting.mean_entries:
            return behind.after
    return behind.after if edge is None else SplitPoint(edge, closed=True)


def _edges(trees: Trees, base: MetarangeId, within: Partition) -> Iterator[bytes]:
    """Yield the primary boundary keys of the base in a partition."""
    threshold = trees.cutting.threshold()
    for row in TreeCursor(trees, base, within.start, within.end).ranges():
        inside = within.end is None or row.max_key < within.end
        if inside and key_hash(row.max_key, trees.boundary_seed) < threshold:
            yield row.max_key


def _slices(trees: Trees, table: pa.Table) -> Iterator[pa.Table]:
    """Yield a table in slices of about the expected distance to the next boundary."""
    rows = trees.cutting.mean_entries
    return (table.slice(at, rows) for at in range(0, table.num_rows, rows))


def _first_put(trees: Trees, changes: pa.Table) -> bytes | None:
    """Return the first primary boundary key that the changes put."""
    ends = primary_ends(changes.column(KEY), trees.boundary_seed, trees.cutting)
    puts = ends[~changes.column(TOMBSTONE).to_numpy()[ends - 1]]
    key: bytes | None = changes.column(KEY)[int(puts[0]) - 1].as_py() if len(puts) else None
    return key


def _removes(changes: pa.Table, key: bytes) -> bool:
    found = between(changes, key, key + b"\0")
    return bool(found.num_rows) and bool(found.column(TOMBSTONE)[0].as_py())
