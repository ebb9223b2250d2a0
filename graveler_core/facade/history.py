"""Commits and log entries, as the façade returns them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial

from graveler_core.committed.diff import Differences
from graveler_core.engine.reading import history
from graveler_core.engine.reading.expired import with_expiries
from graveler_core.engine.reading.history import LogQuery
from graveler_core.engine.reading.tables import changes_of
from graveler_core.facade.listing import Listing
from graveler_core.guard import needs
from graveler_core.guard.merges import commit_changes
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import Scope
from graveler_core.model.bounds import Bounds
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.collection import Expiry
from graveler_core.model.entities import Commit, RepositoryRecord
from graveler_core.model.html import html_table
from graveler_core.model.ids import CommitId
from graveler_core.model.permission import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.log import LogStep
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget


@dataclass(frozen=True, slots=True, eq=False)
class CommitRecord:
    """A commit: its id, the fields that the id hashes, and its expiry. Commits with equal ids are equal."""

    id: CommitId
    message: str
    committer: str
    creation_date: datetime
    parents: tuple[CommitId, ...]
    metadata: Mapping[str, str]
    generation: int
    expired: Expiry | None = field(default=None, kw_only=True)
    """Expiry of the content by the retention rules, or announced removal of the commit, or `None`. Logs, listings and
    `commit` set it.
    """

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, CommitRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the commit, by name."""
        return {"commit": self.id, **self._html_rows()}

    def _html_rows(self) -> dict[str, object]:
        return {
            "message": self.message,
            "committer": self.committer,
            "date": self.creation_date,
            "parents": self.parents,
            "metadata": dict(self.metadata),
        }

    def _repr_html_(self) -> str:
        return html_table(f"Commit {self.id}", self._html_rows())


@dataclass(frozen=True, slots=True, eq=False)
class LogEntry(CommitRecord):
    """A commit of a log. It can list its changes under the prefix of the log, and resume the log."""

    _differences: Callable[[Bounds], Iterator[Differences]] = field(repr=False)
    _token: Callable[[], str] = field(repr=False)
    _stores: Stores = field(repr=False)
    _record: RepositoryRecord = field(repr=False)
    _prefix: str = field(repr=False)

    @property
    def _scope(self) -> Scope:
        return Scope(self._record.id, self.id)

    @property
    def _flow_target(self) -> FlowTarget:
        return (self._record.id, "")

    @property
    def token(self) -> str:
        """Token that resumes the log after this commit: `log(after=…)` with the same ref and options.

        The token contains the commits that the refs named when the log began. New commits, and branches that move or
        are deleted, do not change the remaining entries.
        """
        return self._token()

    @operation("show changes", commit_changes(*needs.SHOWN))
    def changes(
        self, after: str = "", limit: int | None = None, *, start: str = "", end: str | None = None
    ) -> Listing[Change]:
        """List the changes of the commit against its first parent, in order of the paths, lazily.

        For a merge these are the changes that it brought into the branch; for a commit without parents, everything
        in it.

        Args:
            after: List only greater paths.
            limit: Maximum number of changes. `None` means all.
            start: List only paths that are not less than this (inclusive).
            end: List only paths that are less than this (exclusive). `None` means no end; an end that is not greater
                than `start` gives an empty listing.

        Returns:
            A listing of changes under the prefix of the log. The token of an item is its path.

        Raises:
            InvalidInput: an argument is not valid.
            PermissionDenied: the caller may not list and read the paths, before and after the commit.
        """
        within = Bounds(self._prefix, after, start, end)
        found = (change for page in self._differences(within) for change in changes_of(page))
        return Listing(found, lambda change: change.path, limit)

    @operation("count changes", commit_changes(Action.LIST_OBJECTS))
    def summary(self) -> ChangeSummary:
        """Return the number of paths that the commit changed against its first parent, without listing them.

        Returns:
            Numbers of added, changed and removed paths under the prefix of the log.

        Raises:
            PermissionDenied: the caller may not list the paths, before and after the commit.
        """
        return history.count(self._differences(Bounds(self._prefix)))


def commit_record(commit: StoredCommit, expired: Expiry | None = None) -> CommitRecord:
    """Return a stored commit as a `CommitRecord`."""
    return header_record(commit.id, commit.header, expired)


def header_record(id: CommitId, header: Commit, expired: Expiry | None) -> CommitRecord:
    """Return a commit's id, header and expiry as a `CommitRecord`."""
    return CommitRecord(
        id=id,
        message=header.message,
        committer=header.committer,
        creation_date=header.creation_date,
        parents=header.parents,
        metadata=header.metadata,
        generation=header.generation,
        expired=expired,
    )


def log_entries(
    stores: Stores, repo: RepositoryRecord, query: LogQuery, steps: Iterable[LogStep]
) -> Iterator[LogEntry]:
    """Yield the steps of a log as log entries, lazily.

    Args:
        stores: Stores of the repository.
        repo: The repository.
        query: The query of the log.
        steps: The steps.
    """
    for step, expired in with_expiries(stores, repo, steps, lambda step: step.commit.id):
        yield replace(_log_entry(stores, repo, query, step), expired=expired)


def _log_entry(stores: Stores, repo: RepositoryRecord, query: LogQuery, step: LogStep) -> LogEntry:
    said = commit_record(step.commit)
    return LogEntry(
        id=said.id,
        message=said.message,
        committer=said.committer,
        creation_date=said.creation_date,
        parents=said.parents,
        metadata=said.metadata,
        generation=said.generation,
        _differences=partial(history.changes, stores, repo, step.commit),
        _token=partial(history.token, stores, repo, query, step),
        _stores=stores,
        _record=repo,
        _prefix=query.prefix,
    )
