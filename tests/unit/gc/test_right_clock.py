"""Collections, sweeps and the emptying of namespaces do nothing on a machine with a wrong clock."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import pytest

from graveler_core.engine.cleaning import work as cleaning
from graveler_core.engine.references.events import fold
from graveler_core.engine.references.log import read_log
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.model.clock import CLOCKS_DIFFER
from graveler_core.model.entities import RepositoryState
from graveler_core.model.ids import RepositoryId
from graveler_core.objects import store_clock
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs import repositories
from tests.unit.engine.world import World

DAY = timedelta(days=1)
WRONG = [-2 * CLOCKS_DIFFER, 8 * DAY]


@pytest.fixture
def world() -> Iterator[World]:
    """A repository in memory whose object store counts as one with a clock of its own."""
    made = World()
    made.clock.time = datetime.now(UTC)
    main = made.repository().branch("main")
    main.put("a", b"a")
    main.commit("first")
    with patch.object(store_clock, "_OWN_CLOCK", ()):
        yield made


def collections(world: World) -> object:
    record = world.graveler().repository("repo")._record
    where = keys.collections(record.id, record.uid)
    return world.kv.get(where.partition, where.key)


def addresses(world: World) -> list[str]:
    return sorted(blob.address for blob in world.blobs.at(world.namespace("repo")).list())


@pytest.mark.parametrize("by", WRONG)
def test_a_collection(world: World, by: timedelta) -> None:
    repo, before = world.graveler().repository("repo"), (addresses(world), collections(world))
    world.clock.time += by
    way = "behind" if by < timedelta(0) else "ahead of"
    with pytest.raises(InvalidInput, match=f"the clock of this machine is .* {way} that of the object store"):
        repo.collect()
    assert (addresses(world), collections(world)) == before
    repo.collect(dry_run=True)
    world.clock.time -= by
    repo.collect()
    assert collections(world) != before[1]


@pytest.mark.parametrize("by", WRONG)
def test_a_sweep(world: World, by: timedelta) -> None:
    repo, before = world.graveler().repository("repo"), addresses(world)
    world.clock.time += by
    with pytest.raises(InvalidInput, match="the clock of this machine"):
        repo.sweep()
    assert addresses(world) == before
    repo.sweep(dry_run=True)
    world.clock.time -= by
    repo.sweep()
    assert addresses(world) == before


@pytest.mark.parametrize("by", WRONG)
def test_a_namespace_to_be_emptied(world: World, by: timedelta) -> None:
    graveler = world.graveler()
    graveler.delete_repository("repo")
    world.clock.time += timedelta(days=8)
    graveler.clean()
    world.clock.time += by - timedelta(days=8)
    with pytest.raises(InvalidInput, match="the clock of this machine"):
        list(graveler.empty_namespaces())
    where = keys.namespace_claim(world.namespace("repo"))
    assert world.kv.get(where.partition, where.key) is None
    world.clock.time -= by
    (found,) = graveler.empty_namespaces()
    assert found.state == "emptying"
    assert world.kv.get(where.partition, where.key) is not None


def test_a_cleaner_whose_clock_is_behind_ends_no_idempotency_key(world: World) -> None:
    main = world.graveler().repository("repo").branch("main")
    main.put("b", b"b")
    made = main.commit("once", idempotency_key="job")
    world.clock.time -= timedelta(days=8)
    world.graveler().clean()
    world.clock.time += timedelta(days=8)
    world.graveler().clean()
    main.put("c", b"c")
    assert main.commit("once", idempotency_key="job").id == made.id


def test_a_cleaner_whose_clock_is_behind_ends_no_migration(world: World) -> None:
    stores = world.stores()
    where = keys.repository(RepositoryId("repo"))
    held = access.read(world.kv, where)
    assert held is not None
    begun = {"state": RepositoryState.INITIAL, "migrating": "x", "since": world.clock.time}
    access.replace(world.kv, where, held, held.value.model_copy(update=begun))
    world.clock.time -= timedelta(days=2)
    world.graveler().clean()
    with pytest.raises(NotFound):
        repositories.get(stores.kv, stores.clock, stores.ids, RepositoryId("repo"))
    now = access.read(world.kv, where)
    assert now is not None
    assert now.value.state is RepositoryState.INITIAL
    world.clock.time += timedelta(days=1, hours=22)  # the clock of its machine is two hours ahead
    world.graveler().clean()
    assert access.read(world.kv, where) == now
    world.clock.time += timedelta(hours=2)
    future = now.value.model_copy(update={"since": world.clock.time + timedelta(days=400)})
    access.replace(world.kv, where, now, future)
    world.graveler().clean()
    assert access.read(world.kv, where) is None


def test_a_file_of_a_killed_comparison_prevents_no_emptying(world: World) -> None:
    graveler, record = world.graveler(), world.graveler().repository("repo")._record
    graveler.delete_repository("repo")
    world.clock.time += timedelta(days=8)
    graveler.clean()
    world.blobs.at(record.storage_namespace).create(store_clock.address(record.uid), b"left")
    with patch.object(store_clock, "_OWN_CLOCK", ("memory",)):
        for _ in range(3):
            found = list(graveler.empty_namespaces())
            world.clock.time += timedelta(days=8)
    assert [each.state for each in found] == ["released"]
    assert addresses(world) == []


def test_a_file_of_a_killed_comparison_is_no_clock(world: World) -> None:
    repo = world.graveler().repository("repo")
    left = store_clock.address(repo._record.uid)
    world.blobs.at(world.namespace("repo")).create(left, b"left")
    world.clock.time += timedelta(hours=2)
    with pytest.raises(InvalidInput, match="the clock of this machine"):
        repo.collect()
    assert left not in addresses(world)


def test_a_dry_run_of_a_cleaner_compares_no_clocks(world: World) -> None:
    where = keys.repository(RepositoryId("repo"))
    held = access.read(world.kv, where)
    assert held is not None
    begun = {"state": RepositoryState.INITIAL, "since": world.clock.time + timedelta(days=400)}
    access.replace(world.kv, where, held, held.value.model_copy(update=begun))
    with patch.object(cleaning, "clock_difference", side_effect=AssertionError):
        assert world.graveler().clean(dry_run=True).deletions == 0


def test_a_trimming_of_the_log_of_references(world: World) -> None:
    repo = world.graveler().repository("repo")
    for number in range(3):
        repo.create_tag(f"v{number}", "main")
        fold(world.stores(), repo._record)
    world.clock.time += timedelta(days=8)
    with pytest.raises(InvalidInput, match="the clock of this machine"):
        repo.trim_reflog(1)
    world.clock.time -= timedelta(days=8)
    assert repo.trim_reflog(1).folded == 2
    before, world.clock.time = read_log(world.stores(), repo._record).held, world.clock.time - timedelta(days=8)
    with pytest.raises(InvalidInput, match="the clock of this machine"):  # to it, the rewrite is days ahead
        repo.trim_reflog(1)
    assert read_log(world.stores(), repo._record).held == before
