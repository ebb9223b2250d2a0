"""Reading a commit: immutable, so nothing is proved but that the repository still is one that may be read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.committed.diff import STATES, Differences, Wanted
from graveler_core.committed.index.diff import diff as diff_indexes
from graveler_core.committed.index.diff import diff_at
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.lookup import lookup
from graveler_core.committed.index.scan import scan
from graveler_core.committed.index.successor import on_metarange
from graveler_core.engine.chain import changed_keys
from graveler_core.engine.pages import first_rows
from graveler_core.engine.registers import same_content, settled
from graveler_core.engine.view import changes, commit_of, view_of
from graveler_core.model.entities import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId
from graveler_core.refs import repositories
from graveler_core.stores import Registers, Stores


def readable(stores: Stores, repo: RepositoryId) -> Repository:
    """The repository, if it is active now."""
    return repositories.get(stores.kv, stores.clock, stores.ids, repo)


def get(stores: Stores, repo: RepositoryId, commit: CommitId, path: str) -> Entry | None:
    """What a path holds at a commit; None for nothing."""
    repository = readable(stores, repo)
    index = commit_of(stores, repository, commit).layout.index
    return lookup(stores.indexes(repository), index, path.encode())


def entries_page(
    stores: Stores, repo: RepositoryId, commit: CommitId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """The first entries of a key span at a commit, at most `rows`; fewer only where the span ends."""
    repository = readable(stores, repo)
    index = commit_of(stores, repository, commit).layout.index
    start, end = span
    return first_rows(scan(stores.indexes(repository), index, start=start, end=end), rows)


def diff(
    stores: Stores,
    repo: Repository,
    sides: tuple[CommitId, CommitId],
    span: tuple[bytes, bytes | None],
    wanted: Wanted = STATES,
) -> Iterator[Differences]:
    """Where the content of the second commit differs from that of the first in a key span, in order, lazily."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    indexes, left, right = stores.indexes(repo), before.layout.index, after.layout.index
    start, end = span
    changed = changed_keys(stores, repo, before, after)
    if changed is not None:
        return diff_at(indexes, left, right, [k for k in changed if start <= k and (end is None or k < end)], wanted)
    return diff_indexes(indexes, left, right, start=start, end=end, wanted=wanted)


def tree_id(stores: Stores, repo: RepositoryId, commit: CommitId) -> MetarangeId:
    """The metarange id of a commit's whole content: equal content, equal id. Writes the ranges that it needs."""
    repository = readable(stores, repo)
    index = commit_of(stores, repository, commit).layout.index
    return fold(stores.indexes(repository), index, mapper=stores.executor.map)


def staged_tree_id(stores: Stores, repo: RepositoryId, branch: BranchId) -> MetarangeId:
    """The metarange id of what a branch shows now, staged changes included. Writes the ranges that it needs."""

    def attempt(registers: Registers) -> MetarangeId:
        view = view_of(stores, registers)
        staged = stores.executor.ahead(changes(view))
        made = on_metarange(view.indexes, view.base, staged, mapper=stores.executor.map, verbatim=True)
        return made.index.metarange_id

    return settled(stores, repo, branch, attempt, same=same_content)
