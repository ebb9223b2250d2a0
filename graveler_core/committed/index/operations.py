"""Digest of the operations of a commit: its changes relative to its first parent, independent of how it was built."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.diff import CHANGES, as_changes
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layers import own_changes
from graveler_core.committed.index.scan import scan
from graveler_core.model.entities import OPERATIONS_RULE
from graveler_core.model.index import Index
from graveler_core.segments.merge import as_records
from graveler_core.segments.operations import OperationsDigest, digest_of_few


def operations_between(indexes: Indexes, before: Index | None, after: Index, rule: int = OPERATIONS_RULE) -> str:
    """Return the digest of the changes from one index to another (`None`: from no entries), as `successor` computes it.

    Args:
        indexes: The repository's indexes.
        before: Index of the first parent, or `None`.
        after: Index of the commit.
        rule: Version of the digest in the commit header to compare with.

    Raises:
        CorruptData: An object of either index is missing or damaged.
    """
    operations = OperationsDigest(indexes.trees.boundary_seed, rule)
    for changes in _changes(indexes, before, after):
        operations.update(changes)
    return operations.hexdigest()


def own_operations(indexes: Indexes, index: Index, rule: int) -> str | None:
    """Return the digest of the commit's own changes as recorded in its index, or `None` if they are not recorded
    separately.

    Raises:
        CorruptData: The inline index or the run is missing or damaged.
    """
    own = own_changes(indexes, index)
    if own is None:
        return None
    if not index.own_run:
        records = [(element.key, element.record) for element in own.elements]
        return digest_of_few(records, indexes.trees.boundary_seed, rule)
    operations = OperationsDigest(indexes.trees.boundary_seed, rule)
    operations.update(own.table)
    return operations.hexdigest()


def _changes(indexes: Indexes, before: Index | None, after: Index) -> Iterator[pa.Table]:
    if before is None:
        yield from map(as_records, scan(indexes, after))
    else:
        yield from map(as_changes, diff(indexes, before, after, wanted=CHANGES))
