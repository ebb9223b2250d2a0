"""Two runs that begin at once, and a third creation in a place above or below: nobody takes back what is another's."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from graveler_core.engine.repositories import beginning
from graveler_core.engine.repositories import migration as migrating
from graveler_core.engine.repositories.beginning import NewRepository
from graveler_core.errors import Conflict, GravelerError, InvalidInput, Kind, NotUnique
from graveler_core.model.address import namespace
from graveler_core.model.entities import NamespaceClaim, RepositoryState
from graveler_core.model.ids import BranchId, Nonce, RepositoryId, RepositoryUid
from graveler_core.objects import owner_files
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from graveler_core.transfer.migration.holding import Holding
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

NAME = RepositoryId("flights")


def wanted(world: World, digest: str = "d1", seed: int = 0) -> NewRepository:
    return NewRepository(
        NAME,
        world.namespace("data"),
        BranchId("main"),
        adopt=True,
        creation_date=datetime(2020, 1, 1, tzinfo=UTC),
        boundary_seed=seed,
        migrating=digest,
    )


def test_a_run_for_another_namespace_claims_nothing_there() -> None:
    """The first run has died before its own claim."""
    for at in range(1, 6):
        world = World()
        kv = Interposed(world.kv)
        kv.fail[at] = Crash()
        with suppress(Crash):
            migrating.begin_migration(world.stores(kv), wanted(world))  # type: ignore[arg-type]
        elsewhere = replace(wanted(world), storage_namespace=world.namespace("other"))
        if repositories.find(world.kv, NAME) is not None:
            with pytest.raises(InvalidInput, match="began with the storage namespace"):
                migrating.begin_migration(world.stores(), elsewhere)
            assert access.read(world.kv, keys.namespace_claim(world.namespace("other"))) is None


def claimed_inside(world: World) -> None:
    """Somebody has claimed a place inside."""
    uri = world.namespace("data/inside")
    claim = NamespaceClaim(
        owner=RepositoryUid("other"), repository=RepositoryId("other"), nonce=Nonce("n"), since=world.clock.now()
    )
    access.create(world.kv, keys.namespace_claim(uri), claim)


def released_inside(world: World) -> None:
    """And has taken it back."""
    where = keys.namespace_claim(world.namespace("data/inside"))
    world.kv.delete(where.partition, where.key)


def test_a_run_that_is_refused_leaves_what_another_one_has_taken_over() -> None:
    """It sees a claim that is about to go; the other one, which begins later, does not."""
    for number in range(20):
        world = World()
        kv = Interposed(world.kv)
        stores = world.stores(kv)  # type: ignore[arg-type]
        others = list[object]()

        def other(world: World = world, others: list[object] = others) -> None:
            released_inside(world)
            with suppress(GravelerError):
                others.append(migrating.begin_migration(world.stores(), wanted(world)))

        claimed_inside(world)
        kv.before[number] = other
        with suppress(Conflict, NotUnique):
            migrating.begin_migration(stores, wanted(world))
        held = repositories.find(world.kv, NAME)
        claim = access.read(world.kv, keys.namespace_claim(world.namespace("data")))
        owners = owner_files.owners(world.blobs.at(world.namespace("data")))
        if others:
            assert held is not None, number
            assert claim is not None, number
            assert claim.value.owner == held.value.uid
            assert owners == {held.value.uid}, number
        elif held is None:
            assert claim is None, number
            assert owners == set(), number


def test_a_namespace_that_is_taken() -> None:
    world = World()
    claimed_inside(world)
    with pytest.raises(NotUnique) as caught:
        migrating.begin_migration(world.stores(), wanted(world))
    assert caught.value.kind is Kind.NamespaceInUse
    assert repositories.find(world.kv, NAME) is None
    released_inside(world)
    held = migrating.begin_migration(world.stores(), wanted(world))
    assert (held.value.state, held.value.migrating) == (RepositoryState.INITIAL, "d1")
    assert held.value.creation_date.year == 2020


def test_another_state_seed_namespace_or_default_branch() -> None:
    world = World()
    first = migrating.begin_migration(world.stores(), wanted(world))
    with pytest.raises(Conflict) as caught:
        migrating.begin_migration(world.stores(), wanted(world, "d2"))
    assert caught.value.kind is Kind.StoreChanged
    with pytest.raises(GravelerError, match="boundary seed 0, not 1"):
        migrating.begin_migration(world.stores(), wanted(world, seed=1))
    elsewhere = replace(wanted(world), storage_namespace=world.namespace("other"))
    with pytest.raises(InvalidInput, match=r"its migration began with the storage namespace '.*/data', not '.*/other'"):
        migrating.begin_migration(world.stores(), elsewhere)
    assert access.read(world.kv, keys.namespace_claim(world.namespace("other"))) is None
    with pytest.raises(InvalidInput, match="its migration began with the default branch 'main', not 'dev'"):
        migrating.begin_migration(world.stores(), replace(wanted(world), default_branch=BranchId("dev")))
    again = migrating.begin_migration(world.stores(), wanted(world))
    assert again.value.uid == first.value.uid
    assert again.value.nonce != first.value.nonce


def test_a_run_that_another_one_takes_over_before_a_lost_removal_is_not_withdrawn() -> None:
    """The response to the removal of the record is lost, but the record is the other run's."""
    world = World()
    first = migrating.begin_migration(world.stores(), wanted(world))
    kv = Interposed(world.kv)
    kv.before[1] = lambda: migrating.begin_migration(world.stores(), wanted(world))
    kv.lose[1] = False
    assert not beginning.withdraw(world.stores(kv), first.value)
    assert kv.verbs[1] == "delete_if"
    assert repositories.find(world.kv, NAME) is not None


def test_what_is_there_or_begun_otherwise() -> None:
    world = World()
    world.repository("flights")
    with pytest.raises(NotUnique, match="already exists"):
        migrating.begin_migration(world.stores(), wanted(world))
    world = World()
    new = NewRepository(NAME, world.namespace("data"), BranchId("main"))
    beginning.begin(world.stores(), new, namespace(world.namespace("data")))
    with pytest.raises(NotUnique, match="already exists"):
        migrating.begin_migration(world.stores(), wanted(world))


def test_a_run_renews_its_record_after_its_clock_was_set_back() -> None:
    """Else other processes would take its time for that of a wrong clock, and end the migration."""
    world = World()
    run = Holding(world.stores(), migrating.begin_migration(world.stores(), wanted(world)))
    world.clock.time -= timedelta(days=2)
    run.require()
    assert run.repository.since <= world.clock.now()
    assert not repositories.has_taken_too_long(run.repository, world.clock)
