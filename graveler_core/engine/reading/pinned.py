"""Content of a ref at one moment, as a value that other processes can read independently of later changes.

A commit is immutable already. For a branch with staged changes, a tree of its visible entries is written (as for
`snapshot.staged_tree_id`). Nothing refers to the tree, so a sweep deletes it after its grace period. No read takes
longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import pyarrow as pa

from graveler_core.committed import partitioning as portions
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.committed.partitioning import PlannedPartition, Span
from graveler_core.engine.protocol.registers import same_content, settled
from graveler_core.engine.reading import snapshot
from graveler_core.engine.reading.changed_keys import changed_keys
from graveler_core.engine.reading.resolve import resolve
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.model.scan import Pinned
from graveler_core.staging import area
from graveler_core.stores import Registers, Stores


def pin(stores: Stores, repo: RepositoryRecord, ref: str) -> Pinned:
    """Pin the current content of a ref expression. For a branch with staged changes this costs about as much as a
    commit.

    Raises:
        InvalidInput: The expression is malformed.
        NotFound: The name does not exist.
    """
    resolved = resolve(stores, repo, ref)
    if resolved.staged and resolved.branch is not None:
        return pin_branch(stores, repo, resolved.branch)
    return pin_commit(stores, repo, resolved.commit_id)


def pin_commit(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> Pinned:
    """Pin the content of a commit."""
    return Pinned(repo.id, repo.uid, commit, commit_of(stores, repo, commit).layout.index)


def pin_branch(stores: Stores, repo: RepositoryRecord, branch: BranchId) -> Pinned:
    """Pin the current content of a branch, including staged changes. If there are any, this costs about as much as a
    commit.

    Raises:
        NotFound: The branch has been deleted.
    """

    def attempt(registers: Registers) -> Pinned:
        record, pinned_repo = registers.branch, registers.repository
        if _is_clean(stores, record):
            return pin_commit(stores, pinned_repo, record.commit_id)
        index = Index(metarange_id=snapshot.shown_tree_id(stores, registers))
        return Pinned(pinned_repo.id, pinned_repo.uid, record.commit_id, index)

    return settled(stores, repo.id, branch, attempt, same=same_content)


def still(stores: Stores, name: RepositoryId, uid: RepositoryUid) -> RepositoryRecord:
    """Return the repository with which a job began. Raises `NotFound` if it was deleted, even if another one has its
    name now.
    """
    repository = snapshot.readable(stores, name)
    if repository.uid != uid:
        raise NotFound(
            f"repository {name!r}: was deleted and created again in the meantime",
            kind=Kind.RepositoryNotFound,
            repository=name,
        )
    return repository


def entry_partitions(stores: Stores, pinned: Pinned, spans: Sequence[Span], rows: int) -> list[PlannedPartition]:
    """Divide sorted key intervals into partitions of at most about `rows` entries. Layers above the tree are not
    counted.
    """
    return portions.of_tree(
        stores.trees(still(stores, pinned.repository, pinned.uid)), pinned.index.metarange_id, spans, rows
    )


def entry_tables(stores: Stores, pinned: Pinned, spans: Sequence[Span]) -> Iterator[pa.Table]:
    """Yield the entries of sorted key intervals, lazily, as non-empty tables in `ENTRY_SCHEMA` sorted by key.

    Raises:
        CorruptData: A part of the index that is needed is missing or damaged.
    """
    indexes = stores.indexes(still(stores, pinned.repository, pinned.uid))
    for single, group in groupby(spans, _is_key):
        if single:
            found = lookup_many(indexes, pinned.index, [start for start, _ in group])
            yield from [found] if found.num_rows else []
        else:
            for start, end in group:
                yield from scan(indexes, pinned.index, start=start, end=end)


def difference_partitions(
    stores: Stores, repo: RepositoryRecord, sides: tuple[CommitId, CommitId], spans: Sequence[Span], rows: int
) -> list[PlannedPartition]:
    """Divide sorted key intervals into partitions of about equal work for `snapshot.diff` of two commits."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    changed = changed_keys(stores, repo, before, after)
    if changed is not None:  # there are few of them, and they are looked up one by one
        return [PlannedPartition(tuple(spans), len(changed))] if changed and spans else []
    roots = before.layout.index.metarange_id, after.layout.index.metarange_id
    return portions.of_difference(stores.trees(repo), roots, spans, rows)


def _is_clean(stores: Stores, record: BranchRecord) -> bool:
    """Return `True` if nothing is staged on a branch, so that it shows its head."""
    layered = record.sealed_tokens or record.compacted_metarange is not None
    return not layered and area.is_empty(stores.kv, record.staging_token)


def _is_key(span: Span) -> bool:
    """Return `True` if a key interval contains exactly one key."""
    start, end = span
    return end == start + b"\0"
