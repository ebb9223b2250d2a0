"""Migrating repositories from a source into the store, one after the other.

1. One state of the source, in one transaction: all that follows reads that.
2. The digest of all rows of the repository (`digest`). Where it is there already, migrated from rows of this digest,
   nothing is done; from others, it is refused.
3. Everything is read and checked (`check`). What is broken is reported, and nothing is written.
4. The repository is begun, or taken over from an earlier run (`engine.migrating`): in `initial`, where nobody sees it.
5. Commits, branches with what is staged, tags (`write`).
6. The digest again, of the source as it is by now: where it has changed, the repository is refused and stays invisible.
7. active ✓: the one swap that shows all of it.

A crash leaves a repository in `initial`, which the next run from the same state of the source goes on with, and a
cleaner takes after a day. Repositories are independent: one that is broken or refused keeps none of the others back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby
from operator import itemgetter

from graveler_core.committed.cache import TreeCache
from graveler_core.committed.index.indexes import Indexes
from graveler_core.errors import (
    Conflict,
    CorruptData,
    GravelerError,
    InvalidInput,
    Kind,
    LimitExceeded,
    NotFound,
    NotUnique,
)
from graveler_core.model.entities import Repository, RepositoryState
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId, RepositoryUid
from graveler_core.model.names import repository_id
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.transfer.migration.check import Checked, check
from graveler_core.transfer.migration.digest import digest
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.metaranges import Readable
from graveler_core.transfer.migration.report import BrokenRows, Migrated, Outcome, Progress, Result
from graveler_core.transfer.migration.rows import BrokenValueError, SourceRepository, repository_of
from graveler_core.transfer.migration.source import Row, Snapshot, Source
from graveler_core.transfer.migration.write import Writing

_REFUSALS = (Conflict, CorruptData, InvalidInput, LimitExceeded, NotFound, NotUnique)
"""What is wrong with one repository alone; other errors end the run."""
BEGIN_AGAIN = "delete the repository, clean up, and begin again from a source at rest"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A repository to be begun, or to be taken over."""

    id: RepositoryId
    storage_namespace: str
    creation_date: datetime
    default_branch: BranchId
    boundary_seed: int
    digest: str


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What only the engine may do."""

    begin: Callable[[Wanted], Held[Repository]]
    leave: Callable[[Repository], None]
    """Told of a repository that was deleted, perhaps, while it was migrated."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to migrate, and how."""

    repositories: Collection[str] = ()
    """Their names; all of them where none is given."""
    boundary_seed: int = 0
    """That the trees of the source were cut by."""
    dry_run: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.boundary_seed, int) or not 0 <= self.boundary_seed < 1 << 64:
            raise InvalidInput(f"boundary seed {self.boundary_seed!r}: must be a number from 0 to 2**64 - 1")


def migrate(
    stores: Stores, source: Source, plan: Plan, lifecycle: Lifecycle, progress: Progress = lambda more: None
) -> Migrated:
    """Migrate repositories; a repetition completes what broke off, and changes nothing that is there.

    In memory are what `check` says, of one repository at a time, and a page of staged records.

    Args:
        progress: Told how many more rows were read or written: each about four times in all.

    Raises:
        InvalidInput: a repository that was asked for is not there.
        Unavailable: source or store cannot be reached.
    """
    outcomes = []
    with source.snapshot() as snapshot:
        for _, rows in groupby(chosen(snapshot, plan.repositories), key=itemgetter(0)):
            outcomes.append(_Repository(stores, source, plan, lifecycle, progress).outcome(snapshot, *rows))
    return Migrated(tuple(outcomes))


def chosen(snapshot: Snapshot, names: Collection[str]) -> Iterator[Row]:
    """The rows of some repositories, or of all, in the order of their ids.

    Raises:
        InvalidInput: one of them is not there.
    """
    missing = {repository_id(name) for name in _several(names)}
    rows = list(snapshot.repositories())
    missing -= {row[0] for row in rows}
    if missing:
        name = min(missing)
        raise InvalidInput(f"repository {name!r}: is not in the source", repository=name)
    return (row for row in rows if not names or row[0] in names)


def prospective(stores: Stores, found: SourceRepository, boundary_seed: int) -> Repository:
    """The record of a repository that is not there yet, to read its trees with."""
    return Repository(
        id=found.id,
        uid=RepositoryUid(""),
        storage_namespace=found.storage_namespace,
        creation_date=found.creation_date,
        default_branch=found.default_branch,
        state=RepositoryState.INITIAL,
        boundary_seed=boundary_seed,
        nonce=Nonce(""),
        since=stores.clock.now(),
    )


def for_reading(stores: Stores, repo: Repository) -> Indexes:
    """The indexes of a repository in which the empty tree can be read, and what is found is not remembered otherwise.

    The common cache would answer for files that are not there any more, or are in another namespace.
    """
    indexes = stores.indexes(repo)
    blobs = Readable(stores.blobs.at(repo.storage_namespace))
    return replace(indexes, trees=replace(indexes.trees, blobs=blobs, cache=TreeCache()))


def migrated_commits(stores: Stores, repo: Repository) -> dict[str, CommitId]:
    """What became of the commits of the source, by the ids that they had there."""
    return {id: held.value.commit_id for id, held in access.scan(stores.kv, keys.migrated_commits(repo))}


@dataclass(frozen=True, slots=True)
class _Repository:
    """One repository of a run."""

    stores: Stores
    source: Source
    plan: Plan
    lifecycle: Lifecycle
    progress: Progress

    def outcome(self, snapshot: Snapshot, row: Row, *others: Row) -> Outcome:
        """Migrate it, and say what became of it.

        Args:
            others: Rows of the same id, which a table without a primary key may have: nothing says which one counts.
        """
        try:
            found = repository_of(row)
            if others:
                raise BrokenValueError("is there twice")
        except BrokenValueError as e:
            broken = BrokenRows()
            broken.add("graveler_repositories", row[0], str(e))
            return Outcome(broken.rows[0].id, Result.BROKEN, broken=tuple(broken.rows), broken_rows=broken.count)
        try:
            return self._outcome(snapshot, row, found)
        except _REFUSALS as e:
            return Outcome(found.id, Result.REFUSED, error=e)

    def _outcome(self, snapshot: Snapshot, row: Row, repository: SourceRepository) -> Outcome:
        state = digest(snapshot, row, self.progress)
        standing = repositories.find(self.stores.kv, repository.id)
        if standing is not None and not _is_begun(standing.value):
            self._require_migrated(standing, state)
            return Outcome(repository.id, Result.THERE)
        made = dict[str, CommitId]()
        if standing is not None:
            if standing.value.migrating != state:
                raise _changed(repository.id, f"its migration began; {BEGIN_AGAIN}")
            made = migrated_commits(self.stores, standing.value)
        indexes = for_reading(self.stores, prospective(self.stores, repository, self.plan.boundary_seed))
        found = check(snapshot, repository, indexes, made, self.progress)
        resumed = standing is not None
        if found.broken.count:
            rows = tuple(found.broken.rows)
            return Outcome(repository.id, Result.BROKEN, found.amounts, resumed, rows, found.broken.count)
        if not self.plan.dry_run:
            self._write(snapshot, found, state)
        result = Result.WOULD_MIGRATE if self.plan.dry_run else Result.MIGRATED
        return Outcome(repository.id, result, found.amounts, resumed)

    def _require_migrated(self, standing: Held[Repository], state: str) -> None:
        """A repository that is there must have been migrated from this very state of the source."""
        name = standing.value.id
        if standing.value.state is RepositoryState.DELETING:
            repositories.usable(name, standing)
        said = access.read(self.stores.kv, keys.migration(standing.value))
        if said is None:
            why = "exists already, and was not migrated"
            raise NotUnique(f"repository {name!r} {why}", kind=Kind.RepositoryExists, repository=name)
        if said.value.digest != state:
            raise _changed(name, "it was migrated; what is there stays as it is, and a verification says what differs")

    def _write(self, snapshot: Snapshot, found: Checked, state: str) -> None:
        repository = found.repository
        wanted = Wanted(
            repository.id,
            repository.storage_namespace,
            repository.creation_date,
            repository.default_branch,
            self.plan.boundary_seed,
            state,
        )
        holding = Holding(self.stores, self.lifecycle.begin(wanted))
        try:
            writing = Writing(snapshot, found, holding, self.progress)
            writing.commits()
            writing.branches()
            writing.tags()
            self._require_unchanged(repository.id, state)
            holding.activate()
        except GravelerError:
            self.lifecycle.leave(holding.repository)
            raise

    def _require_unchanged(self, name: str, state: str) -> None:
        with self.source.snapshot() as now:
            row = next((row for row in now.repositories() if row[0] == name), None)
            if row is None or digest(now, row, self.progress) != state:
                raise _changed(name, f"it was read, and nothing of it shows; {BEGIN_AGAIN}")


def _several(names: Collection[str]) -> Collection[str]:
    if isinstance(names, str):
        raise InvalidInput(f"repositories: several names, as [{names!r}], not {names!r}")
    return names


def _is_begun(repo: Repository) -> bool:
    return repo.state is RepositoryState.INITIAL and bool(repo.migrating)


def _changed(name: str, since: str) -> Conflict:
    return Conflict(
        f"repository {name!r}: the source has changed since {since}", kind=Kind.StoreChanged, repository=name
    )
