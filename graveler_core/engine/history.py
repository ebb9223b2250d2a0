"""History as a user asks for it: logs by range and prefix, what each commit changed, differences and their counts.

Pure reading of commits, which never change; nothing is proved at the end. The walks are those of `refs`, the
differences those of `engine.snapshot`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from graveler_core.committed.diff import Differences, differences
from graveler_core.committed.index.layers import own_changes
from graveler_core.committed.index.three_way import Conflicts, three_way
from graveler_core.committed.scan import key_interval
from graveler_core.engine import listing, snapshot
from graveler_core.engine.merge_sides import between
from graveler_core.engine.resolve import resolve_commit
from graveler_core.engine.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.entities import Repository
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import CommitId
from graveler_core.model.names import prefix_key
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import ancestry, log_token
from graveler_core.refs.log import Place, Step
from graveler_core.refs.log import log as walk
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Which commits a log shows: those of `ref`, without those of `since`, that changed paths under `prefix`."""

    ref: str
    since: str | None = None
    prefix: str = ""
    first_parent: bool = False

    def question(self, repo: Repository) -> bytes:
        """What tokens of this log hold on to; refs as they were written, for a token holds the commits they meant."""
        return repr((repo.uid, self.ref, self.since, self.prefix, self.first_parent)).encode()


@dataclass(frozen=True, slots=True)
class DiffQuery:
    """What `right` has that `left` (or the merge base of both) has not: keys under `prefix`, greater than `after`."""

    left: str
    right: str
    since_merge_base: bool = False
    prefix: str = ""
    after: str = ""


def log(stores: Stores, repo: Repository, query: LogQuery, after: str | None = None) -> Iterator[Step]:
    """The commits of a log, lazily, from the start or behind the one that a token was given for.

    Refs are resolved now, unless a token says which commits they meant.

    Raises:
        InvalidInput: a ref is none, or the token is not of this log.
        NotFound: a ref names nothing; later, while iterating: a commit is missing.
    """
    prefix_key(query.prefix)
    if after is None:
        start = Place((resolve_commit(stores, repo, query.ref).id,), _left_out(stores, repo, query))
    else:
        start = log_token.decode(after, query.question(repo))
    steps = walk(partial(commit_of, stores, repo), start, first_parent=query.first_parent)
    return (step for step in steps if not query.prefix or touches(stores, repo, step.commit, query.prefix))


def touches(stores: Stores, repo: Repository, commit: StoredCommit, prefix: str) -> bool:
    """Whether a commit's own changes have a path under a prefix. Reads no content where its index holds them."""
    own = own_changes(stores.indexes(repo), commit.layout.index) if commit.header.parents else None
    if own is None:
        return next(changes(stores, repo, commit, prefix), None) is not None
    wanted = prefix_key(prefix)
    return any(key.startswith(wanted) for key in own.keys)


def changes(
    stores: Stores, repo: Repository, commit: StoredCommit, prefix: str = "", after: str = ""
) -> Iterator[Differences]:
    """What a commit changed against its first parent, in key order, lazily; a root added all that it holds."""
    if commit.header.parents:
        own = (commit.header.parents[0], commit.id)
        return snapshot.diff(stores, repo, own, key_interval(prefix_key(prefix), _behind(after)))
    pages = listing.tables(
        partial(snapshot.entries_page, stores, repo.id, commit.id), listing.Window(prefix=prefix, after=after)
    )
    return (differences(ENTRY_SCHEMA.empty_table(), page) for page in pages)


def diff(stores: Stores, repo: Repository, query: DiffQuery) -> Iterator[Differences]:
    """Where two commits differ, in key order, lazily. Raises as `merge_base`."""
    span = key_interval(prefix_key(query.prefix), _behind(query.after))
    return snapshot.diff(stores, repo, sides(stores, repo, query), span)


def sides(stores: Stores, repo: Repository, query: DiffQuery) -> tuple[CommitId, CommitId]:
    """The two commits that a query compares. Raises as `merge_base`."""
    left, right = (resolve_commit(stores, repo, side) for side in (query.left, query.right))
    if query.since_merge_base:
        left = base_of(stores, repo, left, right)
    return left.id, right.id


def conflicts(stores: Stores, repo: Repository, query: DiffQuery) -> Iterator[Conflicts]:
    """Where merging the commit of `right` into that of `left` would leave conflicts, in key order, lazily.

    Raises as `merge_base`.
    """
    left, right = (resolve_commit(stores, repo, side) for side in (query.left, query.right))
    inputs = between(stores, repo, base_of(stores, repo, left, right), right, left)
    prefix, start = prefix_key(query.prefix), _behind(query.after)
    return (found.conflicts for found in three_way(stores.indexes(repo), inputs, prefix=prefix, start=start))


def count(found: Iterable[Differences]) -> ChangeSummary:
    """How many paths differ. Counts columns: no entry is made, and a page of differences is in memory at a time."""
    added = changed = removed = 0
    for page in found:
        new, gone = page.before.column(KEY).null_count, page.after.column(KEY).null_count
        added, changed, removed = added + new, changed + len(page) - new - gone, removed + gone
    return ChangeSummary(added, changed, removed)


def merge_base(stores: Stores, repo: Repository, left: str, right: str) -> StoredCommit:
    """The best common ancestor of two refs. Raises `NotFound` (`NoMergeBase`) for unrelated histories."""
    return base_of(stores, repo, *(resolve_commit(stores, repo, ref) for ref in (left, right)))


def base_of(stores: Stores, repo: Repository, left: StoredCommit, right: StoredCommit) -> StoredCommit:
    """`merge_base` of two commits."""
    read = partial(commit_of, stores, repo)
    base = ancestry.merge_base(read, left.id, right.id)
    if base is None:
        raise NotFound(
            f"commits {left.id[:12]} and {right.id[:12]} have no common ancestor",
            kind=Kind.NoMergeBase,
            left=left.id,
            right=right.id,
        )
    return read(base)


def _left_out(stores: Stores, repo: Repository, query: LogQuery) -> tuple[CommitId, ...]:
    return () if query.since is None else (resolve_commit(stores, repo, query.since).id,)


def _behind(after: str) -> bytes:
    return prefix_key(after) + b"\0" if after else b""
