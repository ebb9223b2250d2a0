"""Build the index of a commit from a tree that does not derive from its first parent: a branch's compacted tree.

Such a tree contains what the branch showed, including times and addresses. A commit contains less: where an entry is
equal by identity to the parent's entry, the commit keeps the parent's entry, as `successor` does. So the commit is
the same with and without compactions. The comparison may run in key intervals on several machines; the results add
up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.apply import Mapper
from graveler_core.committed.diff import EXACT, Differences, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.successor import Successor, on_metarange
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records, identities
from graveler_core.segments.operations import OperationsDigest, OperationsPartition, partition_of


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """Difference between a tree and the parent, in one key interval or in total."""

    operations: OperationsPartition
    added: int
    changed: int
    removed: int
    retimed: int
    """Number of entries that equal the parent's by identity but have another time or address."""

    def __add__(self, following: TreeComparison) -> TreeComparison:
        """Combine with the comparison of the following key interval."""
        return TreeComparison(
            self.operations + following.operations,
            self.added + following.added,
            self.changed + following.changed,
            self.removed + following.removed,
            self.retimed + following.retimed,
        )


def compared(
    indexes: Indexes, parent: Index, tree: Index, start: bytes = b"", end: bytes | None = None
) -> TreeComparison:
    """Compare a tree with the parent at keys with `start` ≤ key < `end`.

    Raises:
        CorruptData: An object of either is missing or damaged.
    """
    total = TreeComparison(OperationsPartition(RECORD_SCHEMA.empty_table()), 0, 0, 0, 0)
    for found in diff(indexes, parent, tree, start=start, end=end, wanted=EXACT):
        same = _same(found)
        different = found.filter(pc.invert(same))
        added, removed = different.before.column(0).null_count, different.after.column(0).null_count
        operations = partition_of(as_changes(different), indexes.trees.boundary_seed)
        total += TreeComparison(operations, added, len(different) - added - removed, removed, pc.sum(same).as_py() or 0)
    return total


def parents_own(
    indexes: Indexes, parent: Index, tree: Index, start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.Table]:
    """Yield the parent's entries, as records, at keys where the tree has equal entries with another time or address."""
    for found in diff(indexes, parent, tree, start=start, end=end, wanted=EXACT):
        yield as_records(found.filter(_same(found)).before)


def settled(indexes: Indexes, parent: Index, tree: Successor, *, mapper: Mapper = map) -> Successor:
    """Return the successor of `parent` with the content of a tree, independent of the origin of the tree.

    Raises:
        CorruptData: An object of either is missing or damaged.
    """

    def kept() -> Successor:
        records = parents_own(indexes, parent, tree.index)
        return on_metarange(indexes, tree.index, records, mapper=mapper, verbatim=True)

    return settled_by(indexes, tree, compared(indexes, parent, tree.index), kept)


def settled_by(indexes: Indexes, tree: Successor, found: TreeComparison, kept: Callable[[], Successor]) -> Successor:
    """Return the successor as `settled` does, from a comparison; `kept` puts the parent's own entries over the tree."""
    operations = OperationsDigest(indexes.trees.boundary_seed)
    operations.join(found.operations)
    index = kept().index if found.retimed else tree.index
    counts = found.added, found.changed, found.removed, tree.given, tree.tombstones
    return Successor(index, operations.hexdigest(), *counts)


def _same(found: Differences) -> pa.Array:
    """Return a mask of the differences in time or address only."""
    return pa.array((identities(found.before) == identities(found.after)).all(axis=1))
