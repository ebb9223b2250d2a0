"""Reading a commit: immutable, so nothing is proved but that the repository still is one that may be read."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from graveler_core.codec.entry import entry_from_row
from graveler_core.committed.apply import apply
from graveler_core.committed.diff import Differences
from graveler_core.committed.diff import diff as diff_trees
from graveler_core.committed.lookup import lookup
from graveler_core.committed.scan import scan
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
    tree = commit_of(stores, repository, commit).layout.metarange_id
    row = lookup(stores.trees(repository), tree, path.encode())
    return None if row is None else entry_from_row(row, 0)


def entries_page(
    stores: Stores, repo: RepositoryId, commit: CommitId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """The first entries of a key span at a commit, at most `rows`; fewer only where the span ends."""
    repository = readable(stores, repo)
    tree = commit_of(stores, repository, commit).layout.metarange_id
    start, end = span
    return first_rows(scan(stores.trees(repository), tree, start=start, end=end), rows)


def diff(
    stores: Stores, repo: Repository, sides: tuple[CommitId, CommitId], *, prefix: bytes = b"", start: bytes = b""
) -> Iterator[Differences]:
    """Where the content of the second commit differs from that of the first, in key order, lazily."""
    before, after = (commit_of(stores, repo, side).layout.metarange_id for side in sides)
    return diff_trees(stores.trees(repo), before, after, prefix=prefix, start=start)


def tree_id(stores: Stores, repo: RepositoryId, commit: CommitId) -> MetarangeId:
    """The metarange id of a commit's whole content: equal content, equal id."""
    return commit_of(stores, readable(stores, repo), commit).layout.metarange_id


def staged_tree_id(stores: Stores, repo: RepositoryId, branch: BranchId) -> MetarangeId:
    """The metarange id of what a branch shows now, staged changes included. Writes the ranges that it needs."""

    def attempt(registers: Registers) -> MetarangeId:
        view = view_of(stores, registers)
        staged = stores.executor.ahead(changes(view))
        return apply(view.trees, view.base, staged, mapper=stores.executor.map).metarange_id

    return settled(stores, repo, branch, attempt, same=same_content)
