"""Reads of a commit. A commit is immutable, so these functions only check that the repository is active."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import starmap

import pyarrow as pa

from graveler_core.committed.diff import STATES, Differences, WantedColumns
from graveler_core.committed.index.diff import diff as diff_indexes
from graveler_core.committed.index.diff import diff_at
from graveler_core.committed.index.few import states_at
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup
from graveler_core.committed.index.scan import scan
from graveler_core.committed.index.successor import on_metarange
from graveler_core.engine.protocol.registers import same_content, settled
from graveler_core.engine.reading.changed_keys import changed_keys
from graveler_core.engine.reading.listing import CommittedPages
from graveler_core.engine.reading.pages import first_rows
from graveler_core.engine.reading.tables import change_of, changes_of
from graveler_core.engine.reading.view import changes, commit_of, view_of
from graveler_core.model.changes import Change
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import repositories
from graveler_core.stores import Registers, Stores


def readable(stores: Stores, repo: RepositoryId) -> RepositoryRecord:
    """Return the repository if it is active."""
    return repositories.get(stores.kv, stores.clock, stores.ids, repo)


def get(stores: Stores, repo: RepositoryId, commit: CommitId, path: str) -> Entry | None:
    """Return the entry of a path at a commit, or `None`."""
    repository = readable(stores, repo)
    index = commit_of(stores, repository, commit).layout.index
    return lookup(stores.indexes(repository), index, path.encode())


def entries_page(
    stores: Stores, repo: RepositoryId, commit: CommitId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    """Return the first entries of a key interval at a commit, at most `rows`. There are fewer only at the end of the
    interval.
    """
    return _page(stores, readable(stores, repo), commit, span, rows)


def committed_pages(stores: Stores, repo: RepositoryRecord, commit: CommitId) -> CommittedPages:
    """Return the pages of a commit, for a flow that has just read the repository."""
    first, later = partial(_page, stores, repo, commit), partial(entries_page, stores, repo.id, commit)
    return CommittedPages(f"{repo.uid}/{commit}", first, later)


def _page(
    stores: Stores, repo: RepositoryRecord, commit: CommitId, span: tuple[bytes, bytes | None], rows: int
) -> pa.Table:
    index = commit_of(stores, repo, commit).layout.index
    start, end = span
    return first_rows(scan(stores.indexes(repo), index, start=start, end=end, few=rows), rows)


def diff(
    stores: Stores,
    repo: RepositoryRecord,
    sides: tuple[CommitId, CommitId],
    span: tuple[bytes, bytes | None],
    wanted: WantedColumns = STATES,
) -> Iterator[Differences]:
    """Yield the differences from the first commit to the second one in a key interval, lazily and in key order."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    return _compared(stores.indexes(repo), before, after, (span, _changed(stores, repo, before, after, span)), wanted)


def changes_between(
    stores: Stores, repo: RepositoryRecord, sides: tuple[CommitId, CommitId], span: tuple[bytes, bytes | None]
) -> Iterator[Change]:
    """Yield the differences that `diff` yields, as values. If few keys can differ, no columns are made."""
    before, after = (commit_of(stores, repo, side) for side in sides)
    indexes, changed = stores.indexes(repo), _changed(stores, repo, before, after, span)
    if changed is not None and len(changed) <= indexes.sizes.few_keys:
        return starmap(change_of, states_at(indexes, before.layout.index, after.layout.index, changed))
    pages = _compared(indexes, before, after, (span, changed), STATES)
    return (change for page in pages for change in changes_of(page))


def _changed(
    stores: Stores, repo: RepositoryRecord, before: StoredCommit, after: StoredCommit, span: tuple[bytes, bytes | None]
) -> list[bytes] | None:
    """Return the sorted keys of an interval outside of which two commits have the same content there, if known."""
    changed, (start, end) = changed_keys(stores, repo, before, after), span
    return None if changed is None else [key for key in changed if start <= key and (end is None or key < end)]


def _compared(
    indexes: Indexes,
    before: StoredCommit,
    after: StoredCommit,
    within: tuple[tuple[bytes, bytes | None], list[bytes] | None],
    wanted: WantedColumns,
) -> Iterator[Differences]:
    """Compare two commits in an interval. The keys of the interval at which they can differ are given, if known."""
    left, right, ((start, end), changed) = before.layout.index, after.layout.index, within
    if changed is not None:
        return diff_at(indexes, left, right, changed, wanted)
    return diff_indexes(indexes, left, right, start=start, end=end, wanted=wanted)


def tree_id(stores: Stores, repo: RepositoryId, commit: CommitId) -> MetarangeId:
    """Return the metarange id of a commit's whole content. Writes the ranges that it needs.

    Entries that are equal in every field, including modification time and address, give equal ids.
    """
    repository = readable(stores, repo)
    return tree_of(stores, repository, commit_of(stores, repository, commit))


def tree_of(stores: Stores, repo: RepositoryRecord, commit: StoredCommit) -> MetarangeId:
    """Return the metarange id of a commit's whole content, like `tree_id`."""
    return fold(stores.indexes(repo), commit.layout.index, mapper=stores.executor.map)


def staged_tree_id(stores: Stores, repo: RepositoryId, branch: BranchId) -> MetarangeId:
    """Return the metarange id of everything that a branch shows now, including staged changes. Writes the ranges that
    it needs.
    """

    return settled(stores, repo, branch, partial(shown_tree_id, stores), same=same_content)


def shown_tree_id(stores: Stores, registers: Registers) -> MetarangeId:
    """Return the metarange id of everything that a branch shows in one state of its record. Writes the ranges that it
    needs. Called as an attempt under `settled`.
    """
    view = view_of(stores, registers)
    staged = stores.executor.ahead(changes(view))
    made = on_metarange(view.indexes, view.base, staged, mapper=stores.executor.map, verbatim=True)
    return made.index.metarange_id
