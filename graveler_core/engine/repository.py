"""Creating repositories. Source: seed 001, step 2, made safe by the lifecycle registers.

`repos/<name>` := initial ✓ (names its namespace) → claim the namespace ✓, then look for claims above and below
→ first commit → default branch → active ✓. Only the last swap makes the repository visible. A crash before it leaves a
record in `initial`, which anyone declares failed after two minutes, and which deletion then takes the common way.

Two creations of overlapping namespaces both claim first and look afterwards, so at least one of them sees the other.
Whoever has the claim looks whether an earlier repository left files there: nobody else creates any meanwhile.
Every record carries a fresh nonce, so no swap succeeds on an equal older state.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from graveler_core.committed.apply import Applied, apply
from graveler_core.engine.adoption import require_unused
from graveler_core.engine.deletion import enter_for_cleaner
from graveler_core.engine.draft import Draft
from graveler_core.engine.swap import moment, record_writes
from graveler_core.errors import (
    Conflict,
    GravelerError,
    Kind,
    NotUnique,
    PredicateFailed,
)
from graveler_core.kv.limits import check_key
from graveler_core.model import past
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.entities import (
    Commit,
    Layout,
    NamespaceClaim,
    Repository,
    RepositoryState,
)
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.ids import BranchId, Nonce, RepositoryId, RepositoryUid
from graveler_core.model.index import Index
from graveler_core.objects.commits import prepare
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.branches import new_branch
from graveler_core.stores import Stores


@dataclass(frozen=True, slots=True)
class NewRepository:
    """What a caller says about a repository before it exists. A bare one gets no branch and no commit; one that adopts
    takes over what an earlier repository left in the namespace."""

    id: RepositoryId
    storage_namespace: str
    default_branch: BranchId
    committer: str = ""
    bare: bool = False
    adopt: bool = False


def create_repository(stores: Stores, wanted: NewRepository) -> Repository:
    """Create a repository; it is seen whole or not at all.

    Raises:
        NotUnique: (`RepositoryExists`) the name is taken; (`NamespaceInUse`) another repository owns the storage
            namespace, a place above it or a place inside it, or an earlier one left its files there.
        InvalidInput, LimitExceeded: the namespace or the committer breaks a rule.
        Unavailable: the namespace cannot be written.
        NotFound: (`RepositoryDeleting`) an earlier repository of the name is still being deleted.
    """
    place = namespace(wanted.storage_namespace)
    claim_at = keys.namespace_claim(place.uri)
    check_key(claim_at.partition, claim_at.key)
    Draft("", wanted.committer)
    held = _begin(stores, wanted, place)
    try:
        claim = _claim(stores, held.value, place)
        root = _first_tree(stores, held.value, claim, adopt=wanted.adopt)
        if not wanted.bare:
            _first_commit(stores, held.value, root, wanted.committer)
        active = repositories.enter(held.value, RepositoryState.ACTIVE, stores.clock, stores.ids)
        return access.replace(stores.kv, keys.repository(wanted.id), held, active).value
    except PredicateFailed as e:
        # What was deleted may have been emptied before the last of this was written.
        with suppress(GravelerError):
            enter_for_cleaner(stores, held.value)
        raise Conflict(
            f"repository {wanted.id!r}: took over {repositories.CREATION_TIME} to create and was declared failed",
            kind=Kind.LostRace,
            repository=wanted.id,
        ) from e


def _begin(stores: Stores, wanted: NewRepository, place: Namespace) -> Held[Repository]:
    now = stores.clock.now()
    record = Repository(
        id=wanted.id,
        uid=RepositoryUid(stores.ids.fresh()),
        storage_namespace=place.uri,
        creation_date=now,
        default_branch=wanted.default_branch,
        state=RepositoryState.INITIAL,
        bare=wanted.bare,
        boundary_seed=stores.ids.seed(),
        nonce=Nonce(stores.ids.fresh()),
        since=now,
    )
    try:
        return access.create(stores.kv, keys.repository(wanted.id), record)
    except PredicateFailed as e:
        standing = repositories.find(stores.kv, wanted.id)
        if standing is not None and standing.value.state is RepositoryState.INITIAL:
            standing = repositories.expire(stores.kv, stores.clock, stores.ids, standing)
        if standing is not None and standing.value.state is RepositoryState.DELETING:
            repositories.usable(wanted.id, standing)
        raise NotUnique(
            f"repository {wanted.id!r} exists already", kind=Kind.RepositoryExists, repository=wanted.id
        ) from e


def _claim(stores: Stores, repo: Repository, place: Namespace) -> Held[NamespaceClaim]:
    """Claim the namespace, then look for other claims on it, above it and inside it: see the module's docstring."""
    where = keys.namespace_claim(place.uri)
    claim = NamespaceClaim(
        owner=repo.uid, repository=repo.id, nonce=Nonce(stores.ids.fresh()), since=stores.clock.now()
    )
    try:
        held = access.create(stores.kv, where, claim)
    except PredicateFailed as e:
        _withdraw(stores, repo)
        raise _in_use(repo, place.uri) from e
    other = _overlapping(stores, place)
    if other is not None:
        access.remove(stores.kv, where, held)
        _withdraw(stores, repo)
        raise _in_use(repo, other)
    return held


def _overlapping(stores: Stores, place: Namespace) -> str | None:
    above = [ancestor.uri for ancestor in place.ancestors()]
    for uri, found in zip(above, access.read_many(stores.kv, [keys.namespace_claim(u) for u in above]), strict=True):
        if found is not None:
            return uri
    return next((uri for uri, _ in access.scan(stores.kv, keys.NAMESPACES, prefix=place.uri.rstrip("/") + "/")), None)


def _withdraw(stores: Stores, repo: Repository) -> None:
    """Take back a creation that was refused. It owns nothing but its record."""
    standing = repositories.find(stores.kv, repo.id)
    if standing is not None and standing.value.uid == repo.uid:
        access.remove(stores.kv, keys.repository(repo.id), standing)


def _in_use(repo: Repository, uri: str) -> NotUnique:
    return NotUnique(
        f"storage namespace {repo.storage_namespace!r}: {uri!r} belongs to another repository",
        kind=Kind.NamespaceInUse,
        repository=repo.id,
        namespace=uri,
    )


def _first_tree(stores: Stores, repo: Repository, claim: Held[NamespaceClaim], *, adopt: bool) -> Applied:
    """Write the empty tree: the first thing in the namespace, and the proof that it can be written."""
    try:
        if not adopt:
            require_unused(stores, repo)
        applied = apply(stores.trees(repo), None, RECORD_SCHEMA.empty_table())
    except GravelerError:
        access.remove(stores.kv, keys.namespace_claim(repo.storage_namespace), claim)
        _withdraw(stores, repo)
        raise
    return applied


def _first_commit(stores: Stores, repo: Repository, root: Applied, committer: str) -> None:
    header = Commit(
        committer=committer,
        message="Repository created",
        creation_date=stores.clock.now(),
        parents=(),
        generation=1,
        nonce=Nonce(stores.ids.fresh()),
        operations=root.operations,
    )
    commit, writes = prepare(repo, header, Layout(index=Index(metarange_id=root.metarange_id)))
    record_writes(stores, writes)
    name, began = repo.default_branch, past.begun(commit.id, moment(stores))
    access.create(stores.kv, keys.branch(repo, name), new_branch(stores.ids, repo, name, commit.id, began))
