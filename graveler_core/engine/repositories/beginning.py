"""First steps of every new repository: its record in `initial`, and the claim of its namespace.

Two repositories that are created in overlapping namespaces both claim first and check afterwards, so at least one of
them finds the other. The first files in the namespace come next (`engine.repositories.first_files`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from graveler_core.errors import (
    InvalidInput,
    Kind,
    NotFound,
    NotUnique,
    PredicateFailed,
)
from graveler_core.kv.limits import check_key
from graveler_core.model.address import Namespace
from graveler_core.model.entities import ClaimState, DeletedState, NamespaceClaim, RepositoryRecord, RepositoryState
from graveler_core.model.ids import BranchId, Nonce, RepositoryId, RepositoryUid
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.namespace_owners import overlapping
from graveler_core.stores import Stores
from graveler_core.stores.registers import LATE


@dataclass(frozen=True, slots=True)
class NewRepository:
    """Properties of a repository to create. A bare repository gets no branch and no commit. With `adopt`, the
    repository takes over files of an earlier repository in the namespace. With `ephemeral`, content in memory is
    accepted although the records outlive the process. For a migrated repository, date and seed are given.
    """

    id: RepositoryId
    storage_namespace: str
    default_branch: BranchId
    committer: str = ""
    bare: bool = False
    adopt: bool = False
    ephemeral: bool = False
    creation_date: datetime | None = None
    boundary_seed: int | None = None
    migrating: str = ""


def require_claimable(place: Namespace) -> None:
    """Refuse a namespace whose claim is too long for a store. Raises `LimitExceeded`."""
    where = keys.namespace_claim(place.uri)
    check_key(where.partition, where.key)


def require_as_durable(stores: Stores, wanted: NewRepository, place: Namespace) -> None:
    """Refuse content in memory for a repository whose records outlive the process, unless the caller asks for it.

    Raises:
        InvalidInput: (`InvalidNamespace`) The content would be lost before the records that refer to it.
    """
    if place.scheme == "memory" and not wanted.ephemeral and stores.kv.persists():
        raise InvalidInput(
            f"storage namespace {place.uri!r}: its content is lost when this process ends, but the key-value store "
            "keeps the repository, which is damaged then; choose a directory or bucket, or ask for this with "
            "--ephemeral (ephemeral=True)",
            kind=Kind.InvalidNamespace,
            uri=place.uri,
        )


def begin(stores: Stores, wanted: NewRepository, place: Namespace) -> Held[RepositoryRecord]:
    """Create the record, in `initial`.

    Raises:
        NotUnique: The name is in use (`RepositoryExists`).
        NotFound: The name is not free yet (`RepositoryDeleting`).
    """
    now = stores.clock.now()
    record = RepositoryRecord(
        id=wanted.id,
        uid=RepositoryUid(stores.ids.fresh()),
        storage_namespace=place.uri,
        creation_date=wanted.creation_date or now,
        default_branch=wanted.default_branch,
        state=RepositoryState.INITIAL,
        bare=wanted.bare,
        boundary_seed=stores.ids.seed() if wanted.boundary_seed is None else wanted.boundary_seed,
        nonce=Nonce(stores.ids.fresh()),
        since=now,
        migrating=wanted.migrating,
    )
    try:
        held = access.create(stores.kv, keys.repository(wanted.id), record)
    except PredicateFailed:
        standing = repositories.find(stores.kv, wanted.id)
        if standing is not None and standing.value.state is RepositoryState.INITIAL:
            standing = repositories.expire(stores.kv, stores.clock, stores.ids, standing)
        if standing is not None and standing.value.state is RepositoryState.DELETING:
            then = f"; then {_restoring(wanted.id)}, and {_removing(wanted.id)} ten minutes later"
            raise NotFound(
                f"repository {wanted.id!r} is being deleted; delete it again to free the name"
                + then * standing.value.was_active,
                kind=Kind.RepositoryDeleting,
                repository=wanted.id,
            ) from None
        raise NotUnique(
            f"repository {wanted.id!r} already exists", kind=Kind.RepositoryExists, repository=wanted.id
        ) from None
    stores.registers.forget_all(wanted.id)  # so that no write of this process reaches an earlier one with this name
    return held


def claim(stores: Stores, repo: RepositoryRecord, place: Namespace) -> Held[NamespaceClaim]:
    """Claim the namespace, unless the repository has it already. Then look for other claims of it, above it and inside
    it.

    Raises:
        NotUnique: There is another claim (`NamespaceInUse`). The creation is undone.
    """
    where = keys.namespace_claim(place.uri)
    made = NamespaceClaim(owner=repo.uid, repository=repo.id, nonce=Nonce(stores.ids.fresh()), since=stores.clock.now())
    try:
        held = access.create(stores.kv, where, made)
    except PredicateFailed:
        standing = access.read(stores.kv, where)
        if standing is None or standing.value.owner != repo.uid:
            withdraw(stores, repo)
            raise _in_use(stores, repo, place.uri, standing) from None
        # The claim is renewed, so that an earlier run that undoes its creation removes nothing of this run.
        held = access.replace(stores.kv, where, standing, made)
    other = overlapping(stores.kv, place)
    if other is not None:
        access.remove(stores.kv, where, held)
        withdraw(stores, repo)
        raise _in_use(stores, repo, *other)
    return held


def withdraw(stores: Stores, repo: RepositoryRecord) -> bool:
    """Remove the record of a creation that was refused. The record of a migration is removed only if it is this run's.

    Returns:
        True if no run can go on with the repository.
    """
    standing = repositories.find(stores.kv, repo.id)
    if standing is None or standing.value.uid != repo.uid:
        return True
    if repo.migrating and standing.value.nonce != repo.nonce:
        return False
    # Another run of the migration may take over at this moment.
    return access.remove(
        stores.kv, keys.repository(repo.id), standing, lives_on=lambda current: current.uid == repo.uid
    )


def _in_use(stores: Stores, repo: RepositoryRecord, uri: str, claimed: Held[NamespaceClaim] | None) -> NotUnique:
    """Return the error for a namespace that another repository, perhaps a deleted one, has claimed."""
    why = "belongs to another repository"
    if claimed is not None and claimed.value.state is not ClaimState.OWNED:
        why = "is being emptied of the content of a deleted repository"
    elif claimed is not None:
        name = claimed.value.repository
        found = access.read(stores.kv, keys.deleted_repository(name, claimed.value.owner))
        if found is not None:
            # A caller with limited permissions may not be allowed to know the names of other repositories.
            shown = None if stores.principal is not None else name
            why = f"belongs to {'a deleted repository' if shown is None else f'the deleted repository {name!r}'}"
            if found.value.state is not DeletedState.PURGING and found.value.repository.was_active:
                why += f"; {_restoring(shown)}"
            why += f"; {_removing(shown)}{_when(stores, found.value.since)}; then create it with --adopt (adopt=True), "
            why += "or choose another namespace"
    return NotUnique(
        f"storage namespace {repo.storage_namespace!r}: {uri!r} {why}",
        kind=Kind.NamespaceInUse,
        repository=repo.id,
        namespace=uri,
    )


def _restoring(name: str | None) -> str:
    return f"`graveler repo undelete{_uri(name)}` (undelete_repository) restores it"


def _removing(name: str | None) -> str:
    command = f"graveler clean{_uri(name)} --undelete-within 0d"
    return f"`{command}` (clean with undelete_within=timedelta(0)) removes its data"


def _when(stores: Stores, since: datetime) -> str:
    """Return from when on the data of a repository can be removed that was deleted at this time."""
    due = since + LATE
    if stores.clock.now() >= due:
        return ""
    return f" from {due:%H:%M:%S} UTC on, or with --alone (late=timedelta(0)) now if no process uses it"


def _uri(name: str | None) -> str:
    return "" if name is None else f" graveler://{name}"
