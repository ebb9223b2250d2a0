"""Migration of repositories from a SQL database. Every method only delegates to `transfer.migration`.

The modules that use SQLAlchemy are imported on the first call, because their import takes a third of a second.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from graveler_core.engine.reading.snapshot import readable
from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.engine.repositories.deletion import leave_to_cleaner
from graveler_core.engine.repositories.migration import begin_migration
from graveler_core.extras import requires
from graveler_core.facade.listing import Listing
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.model.bounds import Bounds
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget
from graveler_core.transfer.migration.report import Migrated, MigrationDifference, Progress

if TYPE_CHECKING:
    from graveler_core.transfer.migration.run import NewMigration


@dataclass(frozen=True, slots=True)
class MigratedId:
    """Id of a migrated commit in the source, and its id in this store."""

    origin: str
    commit_id: CommitId


class MigrationFromSql:
    """Methods of `Graveler` that migrate repositories from a SQL database."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation(
        "migrate", needs.listed_repositories(Action.CREATE_REPOSITORY), needs.any_storage_namespace, needs.all_content
    )
    def migrate_from(
        self,
        source: str,
        repositories: Collection[str] = (),
        *,
        boundary_seed: int = 0,
        dry_run: bool = False,
        progress: Progress = lambda more: None,
    ) -> Migrated:
        """Migrate repositories from a SQL database: see `graveler_core.transfer.migration.run`.

        A repeated call completes an interrupted migration. It does not change repositories that are already
        migrated.

        Args:
            source: URL of the database: `postgresql://user:password@host:port/database` or `sqlite:///path`. The
            database is only read.
            repositories: Names of the repositories. Empty means all.
            boundary_seed: Unsigned 64-bit seed that the source used for the boundaries of its trees.
            dry_run: Read and check everything; write nothing.
            progress: Called with the number of rows read or written since the last call. Each row is counted about
            four times.

        Returns:
            The outcome for each repository. A damaged or refused repository does not stop the others.

        Raises:
            InvalidInput: the URL is not valid, or the source has no such repository.
            Unavailable: the source cannot be reached, or lacks the tables.
        """
        with requires("migration"):
            from graveler_core.transfer.migration.run import Lifecycle, MigrationPlan, migrate
            from graveler_core.transfer.migration.source import open_source
        plan = MigrationPlan(repositories, boundary_seed, dry_run)
        lifecycle = Lifecycle(partial(_begun, self._stores), partial(leave_to_cleaner, self._stores))
        with open_source(source) as opened:
            return migrate(self._stores, opened, plan, lifecycle, progress)

    @operation(
        "compare with source",
        needs.listed_repositories(Action.READ_REPOSITORY),
        needs.listed_repositories(*needs.SHOWN, whole=True),
    )
    def compare_with(
        self, source: str, repositories: Collection[str] = (), *, progress: Progress = lambda more: None
    ) -> Iterator[MigrationDifference]:
        """Compare a SQL database with this store: repositories, branches, tags, commit headers and staged records.
        Change nothing.

        Args:
            source: URL of the database, as for `migrate_from`.
            repositories: Names of the repositories. Empty means all.
            progress: Called with the number of rows read since the last call.

        Yields:
            Differences, lazily.

        Raises:
            InvalidInput: the URL is not valid, or the source has no such repository.
            Unavailable: the source cannot be reached, or lacks the tables.
        """
        yield from self._compared(source, repositories, progress, contents=False)

    @operation(
        "verify against source",
        needs.listed_repositories(Action.READ_REPOSITORY),
        needs.listed_repositories(*needs.SHOWN, whole=True),
    )
    def verify_against(
        self, source: str, repositories: Collection[str] = (), *, progress: Progress = lambda more: None
    ) -> Iterator[MigrationDifference]:
        """Compare as `compare_with` does, and also check that all trees can be read and that each commit has the same
        content as in the source.

        Args:
            source: URL of the database, as for `migrate_from`.
            repositories: Names of the repositories. Empty means all.
            progress: Called with the number of rows read since the last call.

        Yields:
            Differences, lazily.

        Raises:
            InvalidInput: the URL is not valid, or the source has no such repository.
            Unavailable: the source cannot be reached, or lacks the tables.
        """
        yield from self._compared(source, repositories, progress, contents=True)

    @operation("list migrated commits", needs.repository(Action.READ_REPOSITORY, Action.LIST_COMMITS, named="name"))
    def migrated_ids(self, name: str, after: str = "", limit: int | None = None) -> Listing[MigratedId]:
        """List the commits of a migrated repository with their ids in the source, in order of these ids, lazily.

        Args:
            name: Name of the repository.
            after: List only commits with a greater id in the source.
            limit: Maximum number of commits. `None` means all.

        Returns:
            A listing of pairs of ids. The token of an item is its id in the source.

        Raises:
            NotFound: the repository does not exist.
            InvalidInput: `after` is not a text.
        """
        folder = keys.migrated_commits(readable(self._stores, repository_id(name)))
        found = access.scan_within(self._stores.kv, folder, Bounds(after=after))
        ids = (MigratedId(origin, held.value.commit_id) for origin, held in found)
        return Listing(ids, lambda item: item.origin, limit)

    def _compared(
        self, source: str, repositories: Collection[str], progress: Progress, *, contents: bool
    ) -> Iterator[MigrationDifference]:
        with requires("migration"):
            from graveler_core.transfer.migration.compare import compare
            from graveler_core.transfer.migration.source import open_source
        with open_source(source) as opened:
            yield from compare(self._stores, opened, repositories, contents=contents, progress=progress)


def _begun(stores: Stores, wanted: NewMigration) -> Held[RepositoryRecord]:
    new = NewRepository(
        wanted.id,
        wanted.storage_namespace,
        wanted.default_branch,
        adopt=True,  # the trees of the source are in the namespace already
        creation_date=wanted.creation_date,
        boundary_seed=wanted.boundary_seed,
        migrating=wanted.digest,
    )
    return begin_migration(stores, new)
