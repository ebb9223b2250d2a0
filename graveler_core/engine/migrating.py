"""The lifecycle of a repository that is migrated into: begun, taken over by a later run, left to the cleaner.

`repos/<name>` := initial, with the digest of the source's state ✓ → the namespace claimed ✓, its first file → the
register `migration` ✓ says the same digest → the contents (`transfer.migration`) → active ✓, without the digest. A
crash before the last swap leaves a record in `initial`. A run from the same state of the source goes on with it, by a
swap that makes it its own; if none comes for a day, anyone declares it failed, and deletion takes the common way.
`delete_repository` gives it up at once.

Two runs: each swap expects the record that this run wrote, so one of them gets it, and the other one ends. Both write
the same into one repository; what they build afresh is created once. Before the register stands, a later run claims
the namespace anew and looks around again; once it stands, that has been done, and nothing is ever taken back. A run
that is refused takes back its own claim and its own record, and neither where a later run has made them its own.
"""

from __future__ import annotations

from contextlib import suppress

from graveler_core.engine.beginning import NewRepository, begin, claim, first_tree, require_claimable
from graveler_core.engine.deletion import enter_for_cleaner
from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind, PredicateFailed
from graveler_core.model.address import namespace
from graveler_core.model.entities import Repository, RepositoryState
from graveler_core.model.ids import Nonce
from graveler_core.model.migration import Migration
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.stores import Stores


def begin_migration(stores: Stores, wanted: NewRepository) -> Held[Repository]:
    """A repository in `initial` to migrate into: a new one, or the one that an earlier run has begun.

    Raises:
        NotUnique: the name (`RepositoryExists`) or the namespace (`NamespaceInUse`) is taken.
        NotFound: (`RepositoryDeleting`) an earlier repository of the name is still being deleted.
        Conflict: (`StoreChanged`) an earlier run has begun it from another state of the source; (`LostRace`) another
            run goes on with it at this moment.
        InvalidInput: an earlier run has begun it with another boundary seed.
        Unavailable: the namespace cannot be written.
    """
    place = namespace(wanted.storage_namespace)
    require_claimable(place)
    held = _taken_over(stores, wanted) or begin(stores, wanted, place)
    where = keys.migration(held.value)
    if access.read(stores.kv, where) is None:
        try:
            first_tree(stores, held.value, claim(stores, held.value, place), adopt=True)
        except PredicateFailed as e:
            raise _another_run(wanted) from e
        # Where one stands by now, another run has taken this one over, from the same state of the source.
        access.write_if_absent(stores.kv, where, Migration(digest=wanted.migrating, since=stores.clock.now()))
    return held


def leave_to_cleaner(stores: Stores, repo: Repository) -> None:
    """See that a cleaner finds what a run has written into a repository that was deleted meanwhile."""
    with suppress(GravelerError):
        standing = repositories.find(stores.kv, repo.id)
        if standing is None or standing.value.uid != repo.uid:
            enter_for_cleaner(stores, repo)


def _taken_over(stores: Stores, wanted: NewRepository) -> Held[Repository] | None:
    """The record that an earlier run has begun, as this run's own."""
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
    if found.boundary_seed != wanted.boundary_seed:
        raise InvalidInput(
            f"repository {wanted.id!r}: its migration began with the boundary seed {found.boundary_seed}, not "
            f"{wanted.boundary_seed}",
            repository=wanted.id,
        )
    mine = found.model_copy(update={"nonce": Nonce(stores.ids.fresh()), "since": stores.clock.now()})
    try:
        return access.replace(stores.kv, keys.repository(wanted.id), standing, mine)
    except PredicateFailed as e:
        raise _another_run(wanted) from e


def _another_run(wanted: NewRepository) -> Conflict:
    return Conflict(
        f"repository {wanted.id!r}: another run goes on with it at this moment",
        kind=Kind.LostRace,
        repository=wanted.id,
    )
