"""Deletion of repositories, their undeletion, and the removal of leftovers."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Unpack

from graveler_core.engine.cleaning import Cleaned, CleaningPlan, PlanOptions, Waiting, clean, waiting
from graveler_core.engine.repositories import deletion
from graveler_core.engine.repositories import undeletion as undelete
from graveler_core.errors import CorruptData
from graveler_core.facade.listing import Listing, between
from graveler_core.facade.repository import Repository
from graveler_core.gc.collection_plan import CollectionPlan
from graveler_core.gc.namespaces import EmptiedNamespace, empty_namespaces
from graveler_core.gc.stock import Progress
from graveler_core.gc.sweep import GRACE
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import Scope
from graveler_core.model.entities import DeletedRepository
from graveler_core.model.names import repository_id
from graveler_core.model.permission import Action, Request
from graveler_core.stores import Stores
from graveler_core.telemetry import FlowTarget


class Deletion:
    """Deleted repositories and what they left."""

    _stores: Stores
    _flow_target: FlowTarget

    @operation("delete repository", needs.repository(Action.DELETE_REPOSITORY, named="name"), repository="name")
    def delete_repository(self, name: str) -> None:
        """Delete a repository. It becomes unreachable at once and its name is free again. `clean` later removes its
        data.

        Args:
            name: Name of the repository.

        Raises:
            NotFound: (`RepositoryNotFound`) the repository does not exist.
        """
        deletion.delete_repository(self._stores, repository_id(name))

    @operation(
        "undelete repository",
        needs.repository(Action.CREATE_REPOSITORY, Action.READ_REPOSITORY, named="name"),
        repository="name",
    )
    def undelete_repository(self, name: str, *, uid: str | None = None) -> Repository:
        """Undelete a repository under its name, with everything that was staged on it.

        Args:
            name: Name of the repository.
            uid: Unique id of the repository, if several repositories of this name were deleted. By default the one
            that was deleted last.

        Returns:
            The repository.

        Raises:
            NotFound: there is no such deleted repository, or it cannot be undeleted any more.
            NotUnique: another repository has this name now.
            CorruptData: the record of the deleted repository that `uid` names, or without `uid` of any with this name,
                is damaged.
            Conflict: (`LostRace`) another process is undeleting or deleting it. If that was interrupted, try again
                after two minutes.
            OutcomeUnknown: it may be undeleted: check, or try again after two minutes.
        """
        return Repository(self._stores, undelete.undelete_repository(self._stores, repository_id(name), uid))

    @operation("list deleted repositories", needs.repositories_by_prefix(Action.LIST_REPOSITORIES))
    def deleted_repositories(
        self,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        damaged: Callable[[CorruptData], object] | None = None,
    ) -> Listing[DeletedRepository]:
        """List deleted repositories whose data is not yet removed, in order of their names, lazily.

        Items with `state` `deleted` and with `repository.was_active` can be undeleted.

        Args:
            prefix: List only repositories whose names begin with this.
            after: Token `<name>/<uid>` of an item. List only later items.
            limit: Maximum number of items. `None` means all.
            damaged: Called with the error of each item whose record is damaged. The item is then skipped.

        Returns:
            A listing of deleted repositories. The token of an item is `<name>/<uid>`.

        Raises:
            InvalidInput: an argument is not valid.
            CorruptData: the record of an item is damaged, and `damaged` is not given.
        """
        deleted = undelete.deleted_repositories(self._stores, **between(prefix, after), damaged=damaged)
        found = (entry for entry in deleted if self._shows(Scope(entry.repository.id)))
        return Listing(found, lambda entry: f"{entry.repository.id}/{entry.repository.uid}", limit)

    @operation("clean", needs.optional_repository(Action.COLLECT_GARBAGE))
    def clean(
        self,
        *,
        after: str | None = None,
        progress: Callable[[int], object] = lambda more: None,
        **options: Unpack[PlanOptions],
    ) -> Cleaned:
        """Remove data of deleted repositories, of crashed processes and of dropped layers for good.

        Reachable data is never touched. Several processes may clean at any time, also concurrently with other work.

        Args:
            after: `next` of an earlier result, to continue from there.
            progress: Called with the number of items examined since the last call.
            options: Options of `engine.cleaning.CleaningPlan`: grace periods, `limit`, `dry_run`, one `repository`
            only.

        Returns:
            Numbers of the items that were removed, and the position to continue from.

        Raises:
            InvalidInput: an option is not valid.
        """
        return clean(self._stores, CleaningPlan(**options), after=after, progress=progress)

    @operation("empty namespaces", needs.optional_repository(Action.COLLECT_GARBAGE))
    def empty_namespaces(
        self,
        *,
        grace: timedelta = GRACE,
        dry_run: bool = False,
        alone: bool = False,
        foreign: bool = False,
        progress: Progress = lambda more: None,
    ) -> list[EmptiedNamespace]:
        """Delete the content of repositories that `clean` has removed: see `graveler_core.gc.namespaces`.

        A first call reserves each storage namespace. A call after the grace period deletes the content. A call after
        another grace period releases the namespace, so that a repository can be created there. Run it once a day. Do
        not run it if another store uses the same namespaces.

        Args:
            grace: Minimum time between the steps. It must exceed the duration of any write, and be at least a day
                unless `alone` is true.
            dry_run: Only report what would be deleted.
            alone: Assert that no other process works on the store. With a grace period of zero, all is done at once.
            foreign: Also delete objects that graveler has not created, except records of key-value stores.
            progress: Called with the number of items examined since the last call.

        Returns:
            The result for each namespace, in order.

        Raises:
            InvalidInput: the grace period is too short.
            CorruptData: an item that names content is damaged, so it is unknown which objects another repository needs.
        """
        plan = CollectionPlan(grace, dry_run, alone, foreign)
        return list(empty_namespaces(self._stores, plan, progress=progress))

    @operation("look at what waits", needs.optional_repository(Action.COLLECT_GARBAGE))
    def waiting(self, **options: Unpack[PlanOptions]) -> Waiting:
        """Return the deleted repositories that are not yet cleaned. This scans their entries once.

        Args:
            options: Options as for `clean`.

        Returns:
            Numbers and ages of the deleted repositories.

        Raises:
            InvalidInput: an option is not valid.
        """
        return waiting(self._stores, CleaningPlan(**options))

    def _shows(self, scope: Scope) -> bool:
        """Return `True` if the caller may see a repository or a branch in a listing."""
        return self._allows(
            scope.on_branch(Action.READ_BRANCH) if scope.branch else scope.on_repository(Action.READ_REPOSITORY)
        )

    def _allows(self, request: Request) -> bool:
        """Return `True` if the caller may do what is requested."""
        principal = self._stores.principal
        return principal is None or principal.allows(request)
