"""Migration of repositories from a source into the store, one after the other.

1. Begin one transaction on the source. All following steps except 6 read the state that it shows. 2. Compute the digest
of all rows of the repository (`digest`). If the repository was migrated before from rows with this digest, do nothing.
If it was migrated from other rows, refuse it. 3. Read and check everything (`check`). If rows are broken, report them
and write nothing. 4. Create the repository, or continue the migration of an earlier run
(`engine.repositories.migration`). Its state is `initial`, so nobody sees it. 5. Write commits, branches with their
staged changes, and tags (`write`). 6. Compute the digest of the current source again. If it has changed, refuse the
repository, which stays invisible. 7. Swap the state to `active` ✓. This swap makes the whole repository visible.

A crash leaves a repository in the state `initial`. The next run from the same state of the source continues it, and a
cleaner removes it after a day. Repositories are independent: a broken or refused one does not affect the others.
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
    NotFound,
    NotUnique,
)
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import BranchId, CommitId, Nonce, RepositoryId, RepositoryUid
from graveler_core.model.names import repository_id
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.migrated import migrated_commits, require_not_bare
from graveler_core.transfer.migration.check import Checked, check
from graveler_core.transfer.migration.digest import digest
from graveler_core.transfer.migration.holding import Holding
from graveler_core.transfer.migration.metaranges import Readable
from graveler_core.transfer.migration.report import BrokenRows, Migrated, MigrationOutcome, Progress, Result
from graveler_core.transfer.migration.rows import SourceRepository, repository_of
from graveler_core.transfer.migration.source import Row, SourceDatabase, SourceSnapshot
from graveler_core.transfer.migration.write import Writing

_REFUSALS = (Conflict, CorruptData, InvalidInput, NotFound, NotUnique)
"""Errors that concern one repository only. Other errors end the run."""
BEGIN_AGAIN = "delete the repository, clean up, and migrate again from a source at rest"


@dataclass(frozen=True, slots=True)
class NewMigration:
    """A repository whose migration is to be started or continued."""

    id: RepositoryId
    storage_namespace: str
    creation_date: datetime
    default_branch: BranchId
    boundary_seed: int
    digest: str


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Functions of the engine that a migration needs."""

    begin: Callable[[NewMigration], Held[RepositoryRecord]]
    leave: Callable[[RepositoryRecord], None]
    """Called with a repository that may have been deleted during its migration."""


@dataclass(frozen=True, slots=True)
class MigrationPlan:
    """Options of a migration."""

    repositories: Collection[str] = ()
    """Names of the repositories. Empty means all."""
    boundary_seed: int = 0
    """Seed that the source used for the boundaries of its trees."""
    dry_run: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.boundary_seed, int) or not 0 <= self.boundary_seed < 1 << 64:
            raise InvalidInput(f"boundary seed {self.boundary_seed!r}: must be a number from 0 to 2**64 - 1")


def migrate(
    stores: Stores,
    source: SourceDatabase,
    plan: MigrationPlan,
    lifecycle: Lifecycle,
    progress: Progress = lambda more: None,
) -> Migrated:
    """Migrate repositories. A repetition completes an interrupted migration, and does not change complete ones.

    Memory use is that of `check` for one repository at a time, and a page of staged records.

    Args:
        stores: The stores.
        source: The source.
        plan: Options of the migration.
        lifecycle: Functions of the engine that create repositories and make them visible.
        progress: Called with the number of rows read or written since the last call, about four times for each row.

    Returns:
        The result for each repository.

    Raises:
        InvalidInput: A requested repository is not in the source.
        Unavailable: Source or store cannot be reached.
    """
    outcomes = []
    with source.snapshot() as snapshot:
        for _, rows in groupby(chosen(snapshot, plan.repositories), key=itemgetter(0)):
            outcomes.append(_Repository(stores, source, plan, lifecycle, progress).outcome(snapshot, *rows))
    return Migrated(tuple(outcomes))


def chosen(snapshot: SourceSnapshot, names: Collection[str]) -> Iterator[Row]:
    """Yield the rows of some repositories, or of all, in the order of their ids.

    Raises:
        InvalidInput: One of them is not in the source.
    """
    missing = {repository_id(name) for name in _several(names)}
    rows = list(snapshot.repositories())
    missing -= {row[0] for row in rows}
    if missing:
        name = min(missing)
        raise InvalidInput(f"repository {name!r}: is not in the source", repository=name)
    return (row for row in rows if not names or row[0] in names)


def prospective(stores: Stores, found: SourceRepository, boundary_seed: int) -> RepositoryRecord:
    """Return a record for a repository that does not exist yet, with which its trees can be read."""
    return RepositoryRecord(
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


def for_reading(stores: Stores, repo: RepositoryRecord) -> Indexes:
    """Return indexes of a repository in which the empty tree can be read. They do not use the shared cache.

    The shared cache may contain files that no longer exist or that are in another namespace.
    """
    indexes = stores.indexes(repo)
    blobs = Readable(stores.blobs.at(repo.storage_namespace))
    return replace(indexes, trees=replace(indexes.trees, blobs=blobs, cache=TreeCache()))


@dataclass(frozen=True, slots=True)
class _Repository:
    """One repository of a run."""

    stores: Stores
    source: SourceDatabase
    plan: MigrationPlan
    lifecycle: Lifecycle
    progress: Progress

    def outcome(self, snapshot: SourceSnapshot, row: Row, *others: Row) -> MigrationOutcome:
        """Migrate the repository, and return the result.

        Args:
            snapshot: State of the source.
            row: Row of the repository.
            others: Further rows with the same id, which a table without a primary key may have. They make the
                repository broken, because it is unknown which row is valid.
        """
        try:
            found = repository_of(row)
            if others:
                raise BrokenValueError("is duplicated")
        except BrokenValueError as e:
            broken = BrokenRows()
            broken.add("graveler_repositories", row[0], str(e))
            return MigrationOutcome(
                broken.rows[0].id, Result.BROKEN, broken=tuple(broken.rows), broken_rows=broken.count
            )
        try:
            return self._outcome(snapshot, row, found)
        except _REFUSALS as e:
            return MigrationOutcome(found.id, Result.REFUSED, error=e)

    def _outcome(self, snapshot: SourceSnapshot, row: Row, repository: SourceRepository) -> MigrationOutcome:
        state = digest(snapshot, row, self.progress)
        standing = repositories.find(self.stores.kv, repository.id)
        if standing is not None and not _is_begun(standing.value):
            self._require_migrated(standing, state)
            return MigrationOutcome(repository.id, Result.THERE)
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
            return MigrationOutcome(repository.id, Result.BROKEN, found.amounts, resumed, rows, found.broken.count)
        if not self.plan.dry_run:
            self._write(snapshot, found, state)
        result = Result.WOULD_MIGRATE if self.plan.dry_run else Result.MIGRATED
        return MigrationOutcome(repository.id, result, found.amounts, resumed)

    def _require_migrated(self, standing: Held[RepositoryRecord], state: str) -> None:
        """Check that an existing repository was migrated from this state of the source."""
        name = standing.value.id
        if standing.value.state is RepositoryState.DELETING:
            repositories.usable(name, standing)
        require_not_bare(standing.value)
        said = access.read(self.stores.kv, keys.migration(standing.value))
        if said is None:
            why = "already exists, and was not migrated"
            raise NotUnique(f"repository {name!r} {why}", kind=Kind.RepositoryExists, repository=name)
        if said.value.digest != state:
            raise _changed(
                name,
                "it was migrated; the migrated repository is not changed, and a verification lists the differences",
            )

    def _write(self, snapshot: SourceSnapshot, found: Checked, state: str) -> None:
        repository = found.repository
        wanted = NewMigration(
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
            holding.end()
        except GravelerError:
            self.lifecycle.leave(holding.repository)
            raise

    def _require_unchanged(self, name: str, state: str) -> None:
        with self.source.snapshot() as now:
            row = next((row for row in now.repositories() if row[0] == name), None)
            if row is None or digest(now, row, self.progress) != state:
                raise _changed(name, f"it was read; the repository stays invisible; {BEGIN_AGAIN}")


def _several(names: Collection[str]) -> Collection[str]:
    if isinstance(names, str):
        raise InvalidInput(f"repositories: must be a collection of names, such as [{names!r}], not {names!r}")
    return names


def _is_begun(repo: RepositoryRecord) -> bool:
    return repo.state is RepositoryState.INITIAL and bool(repo.migrating)


def _changed(name: str, since: str) -> Conflict:
    return Conflict(
        f"repository {name!r}: the source has changed since {since}", kind=Kind.StoreChanged, repository=name
    )
