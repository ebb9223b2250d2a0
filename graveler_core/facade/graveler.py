"""The handle on a store: repositories by name. Every method only delegates to `engine` or `refs`."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Any

from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.repositories import creation as lifecycle
from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.engine.staging import pressure
from graveler_core.engine.staging.pressure import BranchPressure
from graveler_core.errors import CorruptData
from graveler_core.facade.access import Access
from graveler_core.facade.completion import MigrationCompletion
from graveler_core.facade.deletion import Deletion
from graveler_core.facade.health import Health
from graveler_core.facade.lakefs import MigrationFromLakefs
from graveler_core.facade.listing import Listing, between
from graveler_core.facade.migration import MigrationFromSql
from graveler_core.facade.nessie import MigrationFromNessie
from graveler_core.facade.repository import Repository
from graveler_core.guard import needs
from graveler_core.guard.operation import operation
from graveler_core.guard.scope import Scope, branch_scope
from graveler_core.guard.staged_names import pressure_shown_to
from graveler_core.model.bounds import Bounds
from graveler_core.model.names import branch_id, repository_id
from graveler_core.model.permission import Action
from graveler_core.refs import repositories
from graveler_core.stores import Reopening, Stores, portable
from graveler_core.telemetry import FlowTarget
from graveler_core.telemetry.events import tell_damaged
from graveler_core.transfer.restorable import require_restorable


class Graveler(Deletion, MigrationCompletion, MigrationFromLakefs, MigrationFromNessie, MigrationFromSql, Health):
    """An open store. Thread-safe. Close it after use, or use it in a `with` statement.

    A pickle of a handle contains the arguments of `connect`, but no secrets: these come from the environment of the
    process that reads it (`GRAVELER_STORE`, `GRAVELER_ACCESS_KEY_ID`, `GRAVELER_SECRET_ACCESS_KEY`, the variables of
    the object store), or pickling raises `InvalidInput`. A cluster and a metrics registry are left out.

    Every method also raises `PermissionDenied` if the caller may not call it, and `InvalidInput` if a name is not
    valid.
    """

    _flow_target: FlowTarget = ("", "")

    def __init__(self, stores: Stores) -> None:
        self._stores = stores

    def __reduce__(self) -> tuple[Any, ...]:
        return _own, (portable(self._stores.opening),)

    def __enter__(self) -> Graveler:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Write pending counters, and close connections and files. Idempotent. If counters cannot be written, they are
        lost, and no error is raised.
        """
        counting.write_down_at_end(self._stores)
        self._stores.close()

    @property
    def user(self) -> str | None:
        """Name of the user whose permissions the handle checks, or `None` on a store without access control."""
        return None if self._stores.principal is None else self._stores.principal.user

    @property
    def iam(self) -> Access:
        """Handle on users, groups, policies and credentials."""
        return Access(self._stores)

    @operation(
        "create repository",
        needs.repository(Action.CREATE_REPOSITORY, named="name"),
        needs.storage_namespace,
        needs.committer(repository="name"),
        repository="name",
    )
    def create_repository(  # noqa: PLR0913 - one call, all of it optional
        self,
        name: str,
        storage_namespace: str,
        *,
        default_branch: str = "main",
        committer: str = "",
        adopt: bool = False,
        ephemeral: bool = False,
    ) -> Repository:
        """Create a repository with one branch and an empty first commit. The repository becomes visible in one step.

        Args:
            name: Name of the repository.
            storage_namespace: URI (file:///…, s3://…, gs://…, az://…, memory://…) of the directory that holds the
            repository's objects. It must not overlap the namespace of another repository.
            default_branch: Name of the branch.
            committer: Name of the committer of the first commit.
            adopt: Take over a namespace that holds objects of another repository, which is not in this store any more
            or never was. `sweep` later deletes those to which the new repository does not refer. The other repository
            deletes nothing there any more.
            ephemeral: Accept a namespace in memory (`memory://`) although the key-value store outlives the process. The
            content is lost at the end of the process, and the repository is damaged afterwards.

        Returns:
            The repository.

        Raises:
            InvalidInput: (`InvalidNamespace`) the namespace is not valid, or is in memory, the key-value store is not,
            and `ephemeral` is false.
            NotUnique: (`RepositoryExists`) the name is taken; (`NamespaceInUse`) the namespace is taken, or holds
            objects of another repository and `adopt` is false.
        """
        wanted = NewRepository(
            repository_id(name),
            storage_namespace,
            branch_id(default_branch),
            committer=committer,
            adopt=adopt,
            ephemeral=ephemeral,
        )
        return Repository(self._stores, lifecycle.create_repository(self._stores, wanted))

    @operation(
        "create repository",
        needs.repository(Action.CREATE_REPOSITORY, named="name"),
        needs.storage_namespace,
        needs.given_dump,
        repository="name",
    )
    def create_bare_repository(  # noqa: PLR0913 - one call, all of it optional
        self,
        name: str,
        storage_namespace: str,
        *,
        default_branch: str = "main",
        adopt: bool = False,
        ephemeral: bool = False,
        dump: str | None = None,
    ) -> Repository:
        """Create a repository without branches and commits, as required by `restore_refs`.

        Args:
            name: Name of the repository.
            storage_namespace: URI of the directory that holds the repository's objects, as for `create_repository`.
            default_branch: Name of the default branch, which `restore_refs` creates.
            adopt: Take over a namespace that holds objects of another repository, as for `create_repository`: required
            to restore a repository in place.
            ephemeral: Accept a namespace in memory, as for `create_repository`.
            dump: URI of a dump that will be restored. If it is damaged, or if the namespace lacks a file that it
            needs, nothing is created.

        Returns:
            The repository.

        Raises:
            InvalidInput: (`InvalidNamespace`) as for `create_repository`; or the namespace lacks a file of the dump.
            CorruptData: (`CorruptDump`) the dump is truncated, damaged or altered.
            NotFound: there is no dump at this URI.
            NotUnique: (`RepositoryExists`, `NamespaceInUse`) as for `create_repository`.
        """
        wanted = NewRepository(
            repository_id(name),
            storage_namespace,
            branch_id(default_branch),
            bare=True,
            adopt=adopt,
            ephemeral=ephemeral,
        )
        if dump is not None:
            require_restorable(self._stores, storage_namespace, dump)
        return Repository(self._stores, lifecycle.create_repository(self._stores, wanted))

    @operation("open repository", needs.repository(Action.READ_REPOSITORY, named="name"), repository="name")
    def repository(self, name: str) -> Repository:
        """Open a repository.

        An incomplete repository can be opened, but all that reads or changes its content raises `Conflict`
        (`RepositoryIncomplete`).

        Args:
            name: Name of the repository.

        Returns:
            The repository.

        Raises:
            NotFound: (`RepositoryNotFound`, `RepositoryDeleting`) the repository does not exist.
        """
        stores = self._stores
        return Repository(stores, repositories.opened(stores.kv, stores.clock, stores.ids, repository_id(name)))

    @operation("list repositories", needs.some_repositories(Action.LIST_REPOSITORIES))
    def list_repositories(  # noqa: PLR0913 - one call, all of it optional
        self,
        prefix: str = "",
        after: str = "",
        limit: int | None = None,
        *,
        start: str = "",
        end: str | None = None,
        damaged: Callable[[CorruptData], object] | None = None,
    ) -> Listing[Repository]:
        """List repositories in order of their names, lazily, also incomplete ones. With access control, only those that
        the caller may list and read.

        Args:
            prefix: List only repositories whose names begin with this.
            after: List only repositories with a greater name.
            limit: Maximum number of repositories. `None` means all.
            start: List only repositories whose names are not less than this (inclusive).
            end: List only repositories whose names are less than this (exclusive). `None` means no end; an end that is
                not greater than `start` gives an empty listing.
            damaged: Called for each repository whose record cannot be read, which is then left out. Without it, such a
                record ends the listing.

        Returns:
            A listing of repositories. The token of an item is its name.

        Raises:
            CorruptData: the record of a repository cannot be read, and `damaged` is not given.
            InvalidInput: an argument is not valid.
        """
        found = repositories.listed(self._stores.kv, Bounds(prefix, after, start, end), damaged)
        scopes = ((record, Scope(record.id)) for record in found)
        seen = (
            Repository(self._stores, record)
            for record, scope in scopes
            if self._shows(scope) and self._allows(scope.on_repository(Action.LIST_REPOSITORIES))
        )
        return Listing(seen, lambda repo: repo.id, limit)

    @operation("list pressures", needs.repositories_by_prefix(Action.LIST_REPOSITORIES))
    def pressures(
        self, prefix: str = "", after: str = "", limit: int | None = None, *, watch: Callable[[], None] | None = None
    ) -> Listing[BranchPressure]:
        """List the branches with many staged changes, and whether they should be compacted, lazily.

        This reads counters, and the records of the branches that they name. A branch with fewer than 1,024 staged
        records by each process and fewer than 10 layers may be missing. A branch whose records cannot be read is left
        out, and the record is logged. Counters of deleted branches are removed.

        Args:
            prefix: List only branches whose `<repository>/<branch>` begins with this.
            after: Token of an item. List only later items.
            limit: Maximum number of items. `None` means all.
            watch: Function that is called after each removal of a counter. It may raise an exception to end the
                listing: many counters may be removed between two items.

        Returns:
            A listing of branches with their pressure, and their records as `Branch.record` returns them. The records of
            repositories contain webhooks and rules only for those who may read them.

        Raises:
            InvalidInput: an argument is not valid.
        """
        surveyed = pressure.survey(self._stores, **between(prefix, after), damaged=tell_damaged, watch=watch)
        found = (item for item in surveyed if self._shows(branch_scope(item.repository.id, item.branch.id)))
        shown = (pressure_shown_to(self._stores.principal, item) for item in found)
        return Listing(shown, lambda item: item.token, limit)


def _own(opened: Reopening) -> Graveler:
    """Return the handle of a pickle."""
    graveler: Graveler = opened.reopen(opened, True)
    return graveler
