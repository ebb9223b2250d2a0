"""Lifecycle of a repository that is the target of a migration: begun, taken over by a later run, left to the cleaner.

`repos/<name>` := initial, with the digest of the source's state ✓ → the namespace is claimed ✓, its first files are
written → the record `migration` ✓ contains the same digest → the contents are written (`transfer.migration`) →
active ✓, without the digest. A crash before the last swap leaves a record in `initial`. A run from the same state of
the source continues with it, by a swap that makes it its own. After a day without such a run, any process may
declare it failed, and it is deleted like other repositories. `delete_repository` deletes it at once.

Two concurrent runs: each swap expects the record that its own run wrote, so one run succeeds and the other ends.
Both write the same content into one repository, and content that they build again is stored once. Before the record
`migration` exists, a later run claims the namespace again and repeats the check for others. Once the record exists,
this check has been done, and nothing is undone any more. A run that is refused undoes its own claim and its own
record, unless a later run has taken them over.
"""

from __future__ import annotations

from graveler_core.engine.repositories.beginning import NewRepository, begin, claim, require_claimable
from graveler_core.engine.repositories.first_files import first_tree
from graveler_core.errors import Conflict, InvalidInput, Kind, PredicateFailed
from graveler_core.model.address import Namespace, namespace
from graveler_core.model.entities import RepositoryRecord, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.model.migration import Migration
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def begin_migration(stores: Stores, wanted: NewRepository) -> Held[RepositoryRecord]:
    """Return a repository in `initial` to migrate into: a new one, or the one that an earlier run has begun.

    Raises:
        NotUnique: The name (`RepositoryExists`) or the namespace (`NamespaceInUse`) is in use. The namespace
            may be in use by a repository of another store if `wanted.adopt` is set.
        NotFound: An earlier repository with the name is still being deleted (`RepositoryDeleting`).
        Conflict: An earlier run has begun it from another state of the source (`StoreChanged`), or another run is
            continuing it now (`LostRace`).
        InvalidInput: An earlier run has begun it with another storage namespace, default branch or boundary seed.
        Unavailable: The namespace is not writable.
    """
    place = namespace(wanted.storage_namespace)
    require_claimable(place)
    held = _taken_over(stores, wanted, place) or begin(stores, wanted, place)
    where = keys.migration(held.value)
    if access.read(stores.kv, where) is None:
        try:
            first_tree(stores, held.value, claim(stores, held.value, place), adopt=wanted.adopt)
        except PredicateFailed:
            raise _another_run(wanted) from None
        # If the record exists by now, another run from the same state of the source has taken this one over.
        access.write_if_absent(stores.kv, where, Migration(digest=wanted.migrating, since=stores.clock.now()))
    return held


def _taken_over(stores: Stores, wanted: NewRepository, place: Namespace) -> Held[RepositoryRecord] | None:
    """Take over the record that an earlier run has begun."""
    standing = repositories.find(stores.kv, wanted.id)
    if standing is None or standing.value.state is not RepositoryState.INITIAL or not standing.value.migrating:
        return None
    found = standing.value
    if found.migrating != wanted.migrating:
        raise Conflict(
            f"repository {wanted.id!r}: its migration began from another state of the source",
            kind=Kind.StoreChanged,
            repository=wanted.id,
        )
    for what, before, now in (
        ("storage namespace", found.storage_namespace, place.uri),
        ("default branch", found.default_branch, wanted.default_branch),
        ("boundary seed", found.boundary_seed, wanted.boundary_seed),
    ):
        if before != now:
            raise InvalidInput(
                f"repository {wanted.id!r}: its migration began with the {what} {before!r}, not {now!r}",
                repository=wanted.id,
            )
    mine = found.model_copy(update={"nonce": Nonce(stores.ids.fresh()), "since": stores.clock.now()})
    try:
        return access.replace(stores.kv, keys.repository(wanted.id), standing, mine)
    except PredicateFailed:
        raise _another_run(wanted) from None


def _another_run(wanted: NewRepository) -> Conflict:
    return Conflict(
        f"repository {wanted.id!r}: another run goes on with it at this moment",
        kind=Kind.LostRace,
        repository=wanted.id,
    )
