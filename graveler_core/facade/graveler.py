"""The handle on everything: repositories by name. Thin: every method delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Unpack

from graveler_core.engine import counting, deletion, pressure, undelete
from graveler_core.engine import repository as lifecycle
from graveler_core.engine.beginning import NewRepository
from graveler_core.engine.cleaning import Cleaned, CleaningPlan, PlanOptions, Waiting, clean, waiting
from graveler_core.engine.pressure import BranchPressure
from graveler_core.engine.snapshot import readable
from graveler_core.facade import needs
from graveler_core.facade.access import Access
from graveler_core.facade.health import Health
from graveler_core.facade.listing import Listing
from graveler_core.facade.migrating import Migrating
from graveler_core.facade.operation import operation
from graveler_core.facade.place import Place, on_branch
from graveler_core.facade.repository import Repository
from graveler_core.model.entities import DeletedRepository
from graveler_core.model.names import branch_id, prefix_key, repository_id
from graveler_core.model.permission import Action
from graveler_core.refs import repositories
from graveler_core.stores import Stores
from graveler_core.telemetry import Said


class Graveler(Migrating, Health):
    """An open store. Safe to use from several threads; close it, or use it in a `with` statement."""

    _said: Said = ("", "")

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def __enter__(self) -> Graveler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write down what was counted, and give back connections and files. Idempotent."""
        counting.write_down_at_end(self._stores)
        self._stores.close()

    @property
    def iam(self) -> Access:
        """Users, groups, policies and credentials."""
        return Access(self._stores)

    @operation(
        "create repository",
        needs.repository(Action.CREATE_REPOSITORY, named="name"),
        needs.attached,
        needs.signed(repository="name"),
        repository="name",
    )
    def create_repository(
        self,
        name: str,
        storage_namespace: str,
        *,
        default_branch: str = "main",
        committer: str = "",
        adopt: bool = False,
    ) -> Repository:
        """Create a repository with one branch and an empty first commit. It is seen whole or not at all.

        Args:
            storage_namespace: URI (file:///…, s3://…, gs://…, az://…, memory://…) below which it keeps its objects; it
                must not be, contain or lie in the namespace of another repository.
            adopt: Take it over with what an earlier repository left there, which `sweep` then deletes where nothing
                of this one names it.

        Raises:
            NotUnique: the name (`RepositoryExists`) or the namespace (`NamespaceInUse`) is taken, or holds what an
                earlier repository left.
        """
        wanted = NewRepository(
            repository_id(name), storage_namespace, branch_id(default_branch), committer=committer, adopt=adopt
        )
        return Repository(self._stores, lifecycle.create_repository(self._stores, wanted))

    @operation(
        "create repository",
        needs.repository(Action.CREATE_REPOSITORY, named="name"),
        needs.attached,
        repository="name",
    )
    def create_bare_repository(
        self, name: str, storage_namespace: str, *, default_branch: str = "main", adopt: bool = False
    ) -> Repository:
        """Create a repository without a branch and without a commit, for `restore_refs`.

        Arguments and errors as `create_repository`; to restore where a repository was, `adopt` what it left.
        """
        wanted = NewRepository(
            repository_id(name), storage_namespace, branch_id(default_branch), bare=True, adopt=adopt
        )
        return Repository(self._stores, lifecycle.create_repository(self._stores, wanted))

    @operation("open repository", needs.repository(Action.READ_REPOSITORY, named="name"), repository="name")
    def repository(self, name: str) -> Repository:
        """A repository to work in. Raises `NotFound` (`RepositoryNotFound`, `RepositoryDeleting`)."""
        return Repository(self._stores, readable(self._stores, repository_id(name)))

    @operation("list repositories", needs.repositories(Action.LIST_REPOSITORIES))
    def list_repositories(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[Repository]:
        """The repositories in order of their names, lazily; on a guarded handle those that may be read."""
        prefix_key(prefix)
        prefix_key(after)
        found = repositories.active(self._stores.kv, prefix=prefix, after=after)
        seen = (Repository(self._stores, record) for record in found if self._shows(Place(record.id)))
        return Listing(seen, lambda repo: repo.id, limit)

    @operation("list pressures", needs.repositories(Action.LIST_REPOSITORIES))
    def pressures(self, prefix: str = "", after: str = "", limit: int | None = None) -> Listing[BranchPressure]:
        """The branches on which much was staged, and whether they should be compacted, lazily.

        Reads counters and the records of the branches that they name. A branch with fewer than 1,024 staged records of
        any one process and fewer than 10 layers may be missing.

        Args:
            prefix: Only branches whose `<repository>/<branch>` begins so.
            after: Only those behind this one: an item's `token`.
        """
        prefix_key(prefix)
        prefix_key(after)
        surveyed = pressure.survey(self._stores, prefix=prefix, after=after)
        found = (item for item in surveyed if self._shows(on_branch(item.repository.id, item.branch.id)))
        return Listing(found, lambda item: item.token, limit)

    @operation("delete repository", needs.repository(Action.DELETE_REPOSITORY, named="name"), repository="name")
    def delete_repository(self, name: str) -> None:
        """Delete a repository: unreachable at once, its name free again. What it leaves is cleaned up later."""
        deletion.delete_repository(self._stores, repository_id(name))

    @operation(
        "undelete repository",
        needs.repository(Action.CREATE_REPOSITORY, Action.READ_REPOSITORY, named="name"),
        repository="name",
    )
    def undelete_repository(self, name: str, *, uid: str | None = None) -> Repository:
        """Bring back a deleted repository under its name, with everything that was staged on it.

        Args:
            uid: Which one, where several of the name were deleted; else the one that was deleted last.

        Raises:
            NotFound: it cannot be restored, or not any more; NotUnique: another one bears the name by now.
        """
        return Repository(self._stores, undelete.undelete_repository(self._stores, repository_id(name), uid))

    @operation("list deleted repositories", needs.repositories(Action.LIST_REPOSITORIES))
    def deleted_repositories(
        self, prefix: str = "", after: str = "", limit: int | None = None
    ) -> Listing[DeletedRepository]:
        """What deleted repositories have left, in order of their names, lazily.

        Those whose `state` is `deleted` and whose `repository.was_active` can be restored.
        """
        prefix_key(prefix)
        prefix_key(after)
        deleted = undelete.deleted_repositories(self._stores, prefix, after)
        found = (entry for entry in deleted if self._shows(Place(entry.repository.id)))
        return Listing(found, lambda entry: f"{entry.repository.id}/{entry.repository.uid}", limit)

    @operation("clean", needs.chosen(Action.COLLECT_GARBAGE))
    def clean(
        self,
        *,
        after: str | None = None,
        progress: Callable[[int], object] = lambda more: None,
        **options: Unpack[PlanOptions],
    ) -> Cleaned:
        """Remove for good what deleted repositories, crashes and the passing of layers left behind.

        Nothing that can be reached is touched, whoever else is at work; cleaners may run at any time, several at once.

        Args:
            after: `next` of an earlier call, to go on from there.
            progress: Told how many more things were looked at.
            options: Those of `engine.cleaning.CleaningPlan`: graces, `limit`, `dry_run`, one `repository` only.
        """
        return clean(self._stores, CleaningPlan(**options), after=after, progress=progress)

    @operation("look at what waits", needs.chosen(Action.COLLECT_GARBAGE))
    def waiting(self, **options: Unpack[PlanOptions]) -> Waiting:
        """The deleted repositories that wait for a cleaner: one scan of their entries. Options as of `clean`."""
        return waiting(self._stores, CleaningPlan(**options))

    def _shows(self, place: Place) -> bool:
        """Whether a listing shows a repository, or a branch, to whoever asks."""
        principal = self._stores.principal
        if principal is None:
            return True
        return principal.allows(
            place.named(Action.READ_BRANCH) if place.branch else place.itself(Action.READ_REPOSITORY)
        )
