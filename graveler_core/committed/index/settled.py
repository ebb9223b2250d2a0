"""The index of a commit from a tree that was built beside its first parent: from a branch's compacted tree.

Such a tree holds what the branch showed, to the time and the address. A commit holds less: what is equal by identity to
its parent's entry is the parent's entry, as `successor` has it. So it is the same commit, with compactions or without.

The comparison may be made in key intervals, anywhere; what they give adds up.
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
from graveler_core.segments.operations import OperationsDigest, OperationsPiece, piece_of


@dataclass(frozen=True, slots=True)
class Compared:
    """How a tree differs from the parent, in one key interval or in all."""

    operations: OperationsPiece
    added: int
    changed: int
    removed: int
    retimed: int
    """Entries that are the parent's by identity, and have another time or address."""

    def __add__(self, following: Compared) -> Compared:
        """Of two neighbours."""
        return Compared(
            self.operations + following.operations,
            self.added + following.added,
            self.changed + following.changed,
            self.removed + following.removed,
            self.retimed + following.retimed,
        )


def compared(indexes: Indexes, parent: Index, tree: Index, start: bytes = b"", end: bytes | None = None) -> Compared:
    """How a tree differs from the parent at keys with `start` ≤ key < `end`.

    Raises:
        CorruptData: a part of either is missing or damaged.
    """
    total = Compared(OperationsPiece(RECORD_SCHEMA.empty_table()), 0, 0, 0, 0)
    for found in diff(indexes, parent, tree, start=start, end=end, wanted=EXACT):
        same = _same(found)
        different = found.filter(pc.invert(same))
        added, removed = different.before.column(0).null_count, different.after.column(0).null_count
        operations = piece_of(as_changes(different), indexes.trees.boundary_seed)
        total += Compared(operations, added, len(different) - added - removed, removed, pc.sum(same).as_py() or 0)
    return total


def parents_own(
    indexes: Indexes, parent: Index, tree: Index, start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.Table]:
    """The parent's entries, as records, at the keys where the tree has them at another time or address."""
    for found in diff(indexes, parent, tree, start=start, end=end, wanted=EXACT):
        yield as_records(found.filter(_same(found)).before)


def settled(indexes: Indexes, parent: Index, tree: Successor, *, mapper: Mapper = map) -> Successor:
    """The successor of `parent` that holds what a tree does, whatever the tree was made from.

    Raises:
        CorruptData: a part of either is missing or damaged.
    """

    def kept() -> Successor:
        records = parents_own(indexes, parent, tree.index)
        return on_metarange(indexes, tree.index, records, mapper=mapper, verbatim=True)

    return settled_by(indexes, tree, compared(indexes, parent, tree.index), kept)


def settled_by(indexes: Indexes, tree: Successor, found: Compared, kept: Callable[[], Successor]) -> Successor:
    """As `settled`, from what was compared; `kept` puts the parent's own entries over the tree."""
    operations = OperationsDigest(indexes.trees.boundary_seed)
    operations.join(found.operations)
    index = kept().index if found.retimed else tree.index
    counts = found.added, found.changed, found.removed, tree.given, tree.tombstones
    return Successor(index, operations.hexdigest(), *counts)


def _same(found: Differences) -> pa.Array:
    """Which differ in time or address alone."""
    return pa.array((identities(found.before) == identities(found.after)).all(axis=1))
