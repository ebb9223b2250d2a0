"""History for users: logs by range and prefix, changes of each commit, differences and their counts.

These functions only read commits, which never change, so there is no closing re-read. `refs` walks the history, and
`engine.reading.snapshot` computes the differences.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from graveler_core.committed.diff import Differences, differences
from graveler_core.engine.reading import listing, snapshot
from graveler_core.engine.reading.changed_keys import own_changes_of
from graveler_core.engine.reading.resolve import resolve_commit, resolve_content
from graveler_core.engine.reading.view import commit_of
from graveler_core.errors import Kind, NotFound
from graveler_core.iam.log_key import log_key
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.clock import CLOCKS_DIFFER
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import CommitId
from graveler_core.model.names import prefix_key
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import ancestry, log_token
from graveler_core.refs.log import LogPosition, LogStep
from graveler_core.refs.log import log as walk
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Stores

_COMMIT_ID: Final = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class LogQuery:
    """Query for a log: the commits of `ref`, without those of `since`, that changed paths under `prefix`, and that have
    the date `not_before` or a later one.
    """

    ref: str
    since: str | None = None
    prefix: str = ""
    first_parent: bool = False
    not_before: datetime | None = None

    def question(self, repo: RepositoryRecord) -> bytes:
        """Return the text to which tokens of this log are bound. It contains refs as they were written, because a token
        contains the commits that they resolved to.
        """
        dates = () if self.not_before is None else (self.not_before.timestamp(),)
        return repr((repo.uid, self.ref, self.since, self.prefix, self.first_parent, *dates)).encode()


@dataclass(frozen=True, slots=True)
class DiffQuery:
    """Query for the changes from `left` (or from the merge base of both) to `right`, at paths within bounds."""

    left: str
    right: str
    since_merge_base: bool = False
    within: Bounds = ALL


@dataclass(slots=True)
class LogLimit:
    """Limits at which a log ends."""

    commits: int | None = None
    """Number of commits that the log looks at."""
    last: str | None = None
    """Id of the commit after which the log ends, even if the log does not show that commit."""
    rest: str | None = None
    """Token that resumes the log, once it has ended at the number of commits."""


def log(
    stores: Stores, repo: RepositoryRecord, query: LogQuery, after: str | None = None, limit: LogLimit | None = None
) -> Iterator[LogStep]:
    """Yield the commits of a log lazily, from the start, or after a commit.

    Refs are resolved now, unless a token contains the commits that they resolved to.

    Args:
        stores: Stores of the repository.
        repo: The repository.
        query: The query of the log.
        after: Token of the commit, or its id. To find a commit by its id, the log reads the commits before it, which
            no limit counts. If only another history has the commit, the log begins where the commit would be.
        limit: Limit at which the log ends. It receives the token that resumes the log.

    Raises:
        InvalidInput: A ref is malformed, or the token is not from this log.
        NotFound: A ref does not exist. While iterating: a commit is missing.
    """
    prefix_key(query.prefix)
    if after is None:
        start = LogPosition((resolve_commit(stores, repo, query.ref).id,), _left_out(stores, repo, query))
    elif isinstance(after, str) and _COMMIT_ID.fullmatch(after):  # no token has this length
        head = resolve_commit(stores, repo, query.ref).id
        start = LogPosition((head,), _left_out(stores, repo, query), behind=CommitId(after))
    else:
        start = log_token.decode(after, query.question(repo), log_key(stores.kv, stores.principal))
    oldest = query.not_before
    read, ends = partial(commit_of, stores, repo), _walk_ends(oldest)
    steps = walk(read, start, first_parent=query.first_parent, not_before=ends)
    return (
        step
        for step in _limited(stores, repo, query, steps, limit or LogLimit())
        if (oldest is None or step.commit.header.creation_date >= oldest)
        and (not query.prefix or touches(stores, repo, step.commit, query.prefix))
    )


def _walk_ends(oldest: datetime | None) -> datetime | None:
    """Return the date at which a walk ends that shows commits from a date on: an earlier one, because clocks differ."""
    if oldest is None or oldest.replace(tzinfo=None) - datetime.min < CLOCKS_DIFFER:
        return None
    return oldest - CLOCKS_DIFFER


def _limited(
    stores: Stores, repo: RepositoryRecord, query: LogQuery, steps: Iterator[LogStep], limit: LogLimit
) -> Iterator[LogStep]:
    last = None
    for number, step in enumerate(steps):
        if number == limit.commits and last is not None:
            limit.rest = token(stores, repo, query, last)
            return
        yield step
        if step.commit.id == limit.last:
            return
        last = step


def token(stores: Stores, repo: RepositoryRecord, query: LogQuery, step: LogStep) -> str:
    """Return the token that resumes a log after a step."""
    return log_token.encode(step.behind, query.question(repo), log_key(stores.kv, stores.principal))


def touches(stores: Stores, repo: RepositoryRecord, commit: StoredCommit, prefix: str) -> bool:
    """Return `True` if a commit's own changes contain a path under a prefix. Reads no content if its index contains the
    changes.
    """
    own = own_changes_of(stores, repo, commit) if commit.header.parents else None
    if own is None:
        return next(changes(stores, repo, commit, Bounds(prefix)), None) is not None
    wanted = prefix_key(prefix)
    return any(key.startswith(wanted) for key in own.keys)


def changes(
    stores: Stores, repo: RepositoryRecord, commit: StoredCommit, within: Bounds = ALL
) -> Iterator[Differences]:
    """Yield the changes of a commit against its first parent, lazily and in key order. A root commit added its whole
    content.
    """
    if commit.header.parents:
        own = (commit.header.parents[0], commit.id)
        return snapshot.diff(stores, repo, own, within.interval())
    pages = listing.tables(partial(snapshot.entries_page, stores, repo.id, commit.id), listing.Window(within))
    return (differences(ENTRY_SCHEMA.empty_table(), page) for page in pages)


def diff(stores: Stores, repo: RepositoryRecord, query: DiffQuery) -> Iterator[Change]:
    """Yield the changes between two commits, lazily and in key order. Raises the same errors as `merge_base`."""
    return snapshot.changes_between(stores, repo, sides(stores, repo, query), query.within.interval())


def sides(stores: Stores, repo: RepositoryRecord, query: DiffQuery) -> tuple[CommitId, CommitId]:
    """Return the two commits that a query compares. Raises the same errors as `merge_base`."""
    find = resolve_commit if query.since_merge_base else resolve_content
    left, right = (find(stores, repo, side) for side in (query.left, query.right))
    if query.since_merge_base:
        left = base_of(stores, repo, left, right)
    return left.id, right.id


def count(found: Iterable[Differences]) -> ChangeSummary:
    """Count the paths that differ. Null values of columns are counted, so no entries are created. One page of
    differences is in memory at a time.
    """
    added = changed = removed = 0
    for page in found:
        new, gone = page.before.column(KEY).null_count, page.after.column(KEY).null_count
        added, changed, removed = added + new, changed + len(page) - new - gone, removed + gone
    return ChangeSummary(added, changed, removed)


def merge_base(stores: Stores, repo: RepositoryRecord, left: str, right: str) -> StoredCommit:
    """Return the best common ancestor of two refs. Raises `NotFound` (`NoMergeBase`) if the histories are unrelated."""
    return base_of(stores, repo, *(resolve_commit(stores, repo, ref) for ref in (left, right)))


def base_of(stores: Stores, repo: RepositoryRecord, left: StoredCommit, right: StoredCommit) -> StoredCommit:
    """Return the `merge_base` of two commits."""
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


def _left_out(stores: Stores, repo: RepositoryRecord, query: LogQuery) -> tuple[CommitId, ...]:
    return () if query.since is None else (resolve_commit(stores, repo, query.since).id,)
