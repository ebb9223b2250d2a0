"""Commits as people see them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from graveler_core.committed.diff import Differences
from graveler_core.engine import history
from graveler_core.engine.history import LogQuery
from graveler_core.engine.rows import changes_of
from graveler_core.facade import needs
from graveler_core.facade.bringing import changed_by_entry
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.facade.place import Place
from graveler_core.model.changes import Change, ChangeSummary
from graveler_core.model.entities import Commit
from graveler_core.model.entities import Repository as RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.names import prefix_key
from graveler_core.model.permission import Action
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs import log_token
from graveler_core.refs.log import Step
from graveler_core.stores import Stores
from graveler_core.telemetry import Said


@dataclass(frozen=True, slots=True, eq=False)
class CommitRecord:
    """A commit: its id and what its author said of it. The id hashes all of it: equal ids are equal commits."""

    id: CommitId
    message: str
    committer: str
    creation_date: datetime
    parents: tuple[CommitId, ...]
    metadata: Mapping[str, str]
    generation: int

    def __eq__(self, other: object) -> bool:
        return self.id == other.id if isinstance(other, CommitRecord) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class LogEntry(CommitRecord):
    """A commit of a log, which can say what it changed under the prefix of the log, and where the log goes on."""

    _differences: Callable[[str], Iterator[Differences]] = field(repr=False)
    _token: Callable[[], str] = field(repr=False)
    _stores: Stores = field(repr=False)
    _record: RepositoryRecord = field(repr=False)
    _prefix: str = field(repr=False)

    @property
    def _place(self) -> Place:
        return Place(self._record.id, self.id)

    @property
    def _said(self) -> Said:
        return (self._record.id, "")

    @property
    def token(self) -> str:
        """What `log(after=…)` of the same ref and options takes to go on behind this commit.

        It stands for the commits that the refs named when the log began: neither new commits nor a branch that moves or
        goes change what comes.
        """
        return self._token()

    @operation("show changes", changed_by_entry(*needs.SHOWN))
    def changes(self, after: str = "", limit: int | None = None) -> Listing[Change]:
        """What the commit changed against its first parent, in order of the paths, lazily.

        For a merge that is what it brought into the branch; for a root, all that it holds.
        """
        prefix_key(after)
        found = (change for page in self._differences(after) for change in changes_of(page))
        return Listing(found, lambda change: change.path, limit)

    @operation("count changes", changed_by_entry(Action.LIST_OBJECTS))
    def summary(self) -> ChangeSummary:
        """How many paths the commit changed against its first parent, counted without listing them."""
        return history.count(self._differences(""))


def commit_record(commit: StoredCommit) -> CommitRecord:
    """A stored commit as people see it."""
    return header_record(commit.id, commit.header)


def header_record(id: CommitId, header: Commit) -> CommitRecord:
    """A commit's header as people see it."""
    return CommitRecord(
        id=id,
        message=header.message,
        committer=header.committer,
        creation_date=header.creation_date,
        parents=header.parents,
        metadata=header.metadata,
        generation=header.generation,
    )


def log_entry(stores: Stores, repo: RepositoryRecord, query: LogQuery, step: Step) -> LogEntry:
    """A step of a log as people see it."""
    said = commit_record(step.commit)
    return LogEntry(
        id=said.id,
        message=said.message,
        committer=said.committer,
        creation_date=said.creation_date,
        parents=said.parents,
        metadata=said.metadata,
        generation=said.generation,
        _differences=partial(history.changes, stores, repo, step.commit, query.prefix),
        _token=lambda: log_token.encode(step.behind, query.question(repo)),
        _stores=stores,
        _record=repo,
        _prefix=query.prefix,
    )
