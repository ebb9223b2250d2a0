"""Migrating repositories from a SQL database. Thin, as `graveler`.

What speaks to the database is imported when it is asked for: SQLAlchemy takes a third of a second, which nobody should
wait who migrates nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from graveler_core.engine.beginning import NewRepository
from graveler_core.engine.migrating import begin_migration, leave_to_cleaner
from graveler_core.engine.snapshot import readable
from graveler_core.facade import needs
from graveler_core.facade.listing import Listing
from graveler_core.facade.operation import operation
from graveler_core.model.entities import Repository
from graveler_core.model.ids import CommitId
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.stores import Stores
from graveler_core.telemetry import Said

if TYPE_CHECKING:
    from graveler_core.transfer.migration.report import Difference, Migrated, Progress
    from graveler_core.transfer.migration.run import Wanted


@dataclass(frozen=True, slots=True)
class MigratedId:
    """A commit by the id that it had in the source, and by its own."""

    origin: str
    commit_id: CommitId


class Migrating:
    """The part of a store that repositories are migrated into."""

    _stores: Stores
    _said: Said

    @operation("migrate", needs.each(Action.CREATE_REPOSITORY), needs.attached_anywhere, needs.anything)
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

        A repetition completes what broke off, and changes nothing that is there.

        Args:
            source: `postgresql://user:password@host:port/database`, or `sqlite:///path`. Nothing is written there.
            repositories: Their names; all of them where none is given.
            boundary_seed: That the trees of the source were cut by: an unsigned number of 64 bits.
            dry_run: Read and check everything, and write nothing.
            progress: Told how many more rows were read or written: each about four times in all.

        Returns:
            What became of each repository. A broken or refused one keeps none of the others back.

        Raises:
            InvalidInput: the URL is none, or the source has no such repository.
            Unavailable: the source cannot be reached, or has not these tables.
        """
        from graveler_core.transfer.migration.run import Lifecycle, Plan, migrate
        from graveler_core.transfer.migration.source import open_source

        plan = Plan(repositories, boundary_seed, dry_run)
        lifecycle = Lifecycle(partial(_begun, self._stores), partial(leave_to_cleaner, self._stores))
        with open_source(source) as opened:
            return migrate(self._stores, opened, plan, lifecycle, progress)

    @operation("compare with source", needs.each(Action.READ_REPOSITORY), needs.each(*needs.SHOWN, whole=True))
    def compare_with(
        self, source: str, repositories: Collection[str] = (), *, progress: Progress = lambda more: None
    ) -> Iterator[Difference]:
        """How a SQL database and this store differ, lazily; changes nothing. Arguments and errors as `migrate_from`.

        Repositories, branches, tags, commits by their headers, staged records.
        """
        yield from self._compared(source, repositories, progress, contents=False)

    @operation("verify against source", needs.each(Action.READ_REPOSITORY), needs.each(*needs.SHOWN, whole=True))
    def verify_against(
        self, source: str, repositories: Collection[str] = (), *, progress: Progress = lambda more: None
    ) -> Iterator[Difference]:
        """As `compare_with`; also that all trees open, and that each commit holds what it held in the source."""
        yield from self._compared(source, repositories, progress, contents=True)

    @operation("list migrated commits", needs.repository(Action.READ_REPOSITORY, Action.LIST_COMMITS, named="name"))
    def migrated_ids(self, name: str, after: str = "", limit: int | None = None) -> Listing[MigratedId]:
        """What became of the commits of a migrated repository, in the order of their ids in the source, lazily."""
        folder = keys.migrated_commits(readable(self._stores, repository_id(name)))
        found = access.scan(self._stores.kv, folder, after=after)
        ids = (MigratedId(origin, held.value.commit_id) for origin, held in found)
        return Listing(ids, lambda item: item.origin, limit)

    def _compared(
        self, source: str, repositories: Collection[str], progress: Progress, *, contents: bool
    ) -> Iterator[Difference]:
        from graveler_core.transfer.migration.compare import compare
        from graveler_core.transfer.migration.source import open_source

        with open_source(source) as opened:
            yield from compare(self._stores, opened, repositories, contents=contents, progress=progress)


def _begun(stores: Stores, wanted: Wanted) -> Held[Repository]:
    new = NewRepository(
        wanted.id,
        wanted.storage_namespace,
        wanted.default_branch,
        adopt=True,
        creation_date=wanted.creation_date,
        boundary_seed=wanted.boundary_seed,
        migrating=wanted.digest,
    )
    return begin_migration(stores, new)
