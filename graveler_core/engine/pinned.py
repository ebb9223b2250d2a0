"""What a ref showed at one moment, as a value that other processes read on their own, whatever moves meanwhile.

A commit is immutable as it is. Of a branch with staged changes, the tree of what it shows is written (as for
`snapshot.staged_tree_id`). Nothing names it, so a sweep deletes it again after its grace, which no read outlasts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import pyarrow as pa

from graveler_core.committed import portions
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.scan import scan
from graveler_core.committed.portions import Portion, Span
from graveler_core.engine import snapshot
from graveler_core.engine.chain import changed_keys
from graveler_core.engine.registers import same_content, settled
from graveler_core.engine.resolve import resolve
from graveler_core.engine.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.staging import area
from graveler_core.stores import Registers, Stores


@dataclass(frozen=True, slots=True)
class Pinned:
    """The entries that a ref showed. Picklable; holds no connection."""

    repository: RepositoryId
    uid: RepositoryUid
    commit_id: CommitId
    """The commit that was read from, or on top of which the branch was staged."""
    index: Index


def pin(stores: Stores, repo: Repository, ref: str) -> Pinned:
    """What a ref expression shows now. A branch with staged changes costs about what committing them would.

    Raises:
        InvalidInput: it is no expression.
        NotFound: nothing bears the name.
    """
    resolved = resolve(stores, repo, ref)
    index = None
    if resolved.staged and resolved.branch is not None and not _is_clean(stores, repo.id, resolved.branch):
        index = Index(metarange_id=snapshot.staged_tree_id(stores, repo.id, resolved.branch))
    shown = index or commit_of(stores, repo, resolved.commit_id).layout.index
    return Pinned(repo.id, repo.uid, resolved.commit_id, shown)


def still(stores: Stores, name: RepositoryId, uid: RepositoryUid) -> Repository:
    """The repository that a job began with. Raises `NotFound` if it is gone, though another may bear its name."""
    repository = snapshot.readable(stores, name)
    if repository.uid != uid:
        raise NotFound(
            f"repository {name!r}: was deleted and created anew meanwhile",
            kind=Kind.RepositoryNotFound,
            repository=name,
        )
    return repository


def entry_portions(stores: Stores, pinned: Pinned, spans: Sequence[Span], rows: int) -> list[Portion]:
    """Cut sorted spans into portions of at most about `rows` entries; layers above the tree are not counted."""
    return portions.of_tree(
        stores.trees(still(stores, pinned.repository, pinned.uid)), pinned.index.metarange_id, spans, rows
    )


def entry_tables(stores: Stores, pinned: Pinned, spans: Sequence[Span]) -> Iterator[pa.Table]:
    """The entries of sorted spans, lazily, as tables in `ENTRY_SCHEMA` sorted by key; none is empty.

    Raises:
        CorruptData: a part of the index that had to be read is missing or damaged.
    """
    indexes = stores.indexes(still(stores, pinned.repository, pinned.uid))
    for single, group in groupby(spans, _is_key):
        if single:
            found = lookup_many(indexes, pinned.index, [start for start, _ in group])
            yield from [found] if found.num_rows else []
        else:
            for start, end in group:
                yield from scan(indexes, pinned.index, start=start, end=end)


def difference_portions(
    stores: Stores, repo: Repository, sides: tuple[CommitId, CommitId], spans: Sequence[Span], rows: int
) -> list[Portion]:
    """Cut sorted spans into portions of about equal work for `snapshot.diff` of two commits."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    changed = changed_keys(stores, repo, before, after)
    if changed is not None:  # they are few, and looked up one by one
        return [Portion(tuple(spans), len(changed))] if changed and spans else []
    roots = before.layout.index.metarange_id, after.layout.index.metarange_id
    return portions.of_difference(stores.trees(repo), roots, spans, rows)


def _is_clean(stores: Stores, repo: RepositoryId, branch: BranchId) -> bool:
    """Whether nothing is staged on a branch, so that it shows its head."""

    def attempt(registers: Registers) -> bool:
        record = registers.branch
        layered = record.sealed_tokens or record.compacted_metarange is not None
        return not layered and area.is_empty(stores.kv, record.staging_token)

    return settled(stores, repo, branch, attempt, same=same_content)


def _is_key(span: Span) -> bool:
    """Whether a span has room for one key alone."""
    start, end = span
    return end == start + b"\0"
