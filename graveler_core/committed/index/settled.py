"""The index of a commit from a tree that was built beside its first parent: from a branch's compacted tree.

Such a tree holds what the branch showed, to the time and the address. A commit holds less: what is equal by identity to
its parent's entry is the parent's entry, as `successor` has it. So it is the same commit, with compactions or without.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.apply import Mapper
from graveler_core.committed.diff import EXACT, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.successor import Successor, on_metarange
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records, identities
from graveler_core.segments.operations import OperationsDigest


def settled(indexes: Indexes, parent: Index, tree: Successor, *, mapper: Mapper = map) -> Successor:
    """The successor of `parent` that holds what a tree does, whatever the tree was made from.

    Raises:
        CorruptData: a part of either is missing or damaged.
    """
    operations = OperationsDigest(indexes.trees.boundary_seed)
    added = changed = removed = retimed = 0
    for found in diff(indexes, parent, tree.index, wanted=EXACT):
        same = (identities(found.before) == identities(found.after)).all(axis=1)
        different = found.filter(pa.array(~same))
        operations.update(as_changes(different))
        added += different.before.column(0).null_count
        removed += different.after.column(0).null_count
        changed += len(different)
        retimed += int(same.sum())
    index = tree.index
    if retimed:
        kept = _parents_own(indexes, parent, index)
        index = on_metarange(indexes, index, kept, mapper=mapper, verbatim=True).index
    counts = added, changed - added - removed, removed, tree.given, tree.tombstones
    return Successor(index, operations.hexdigest(), *counts)


def _parents_own(indexes: Indexes, parent: Index, tree: Index) -> Iterator[pa.Table]:
    """The parent's entries, as records, at the keys where the tree has them at another time or address."""
    for found in diff(indexes, parent, tree, wanted=EXACT):
        same = (identities(found.before) == identities(found.after)).all(axis=1)
        yield as_records(found.filter(pa.array(same)).before)
