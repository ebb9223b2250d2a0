"""Tests of the objects that imports write, counted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from graveler_core.blobs.port import Foreign
from graveler_core.errors import NoChanges, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.store import Store
from graveler_core.model.address import Namespace
from graveler_core.testing.invariants import check_history
from tests.unit.engine.flows import table
from tests.unit.engine.importing.sources import Listing, Listings, lake, shown
from tests.unit.engine.races import Interrupted, WatchedBlobs
from tests.unit.engine.world import World, entry

PLACE = "s3://bucket/raw"
ROWS: list[tuple[bytes, int, str | None]] = [(b"%04d" % n, n, f"e{n}") for n in range(300)]


def watched(
    world: World, rows: list[tuple[bytes, int, str | None]], kv: Store | None = None
) -> tuple[Repository, WatchedBlobs]:
    blobs = WatchedBlobs(Listings(world.blobs, {PLACE: Listing(rows, page=50)}))
    return Graveler(replace(world.stores(kv), blobs=blobs)).repository("repo"), blobs


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def test_a_first_import_writes_nothing_twice(world: World) -> None:
    world.branch().stage_many(table({"other/1": 1, "z": 2}))
    world.branch().commit("little")
    repo, blobs = watched(world, ROWS)
    repo.import_prefix(PLACE, "main", "in")
    ranges = [address for address in blobs.created if "staging" not in address]
    assert len(ranges) - len(set(ranges)) <= 2
    assert len(shown(world)) == 302
    check_history(world.stores(), repo._active())
    assert [finding for finding in repo.fsck(deep=True) if finding.damage] == []


def test_an_import_of_what_is_there_writes_what_it_gathers(world: World) -> None:
    watched(world, ROWS)[0].import_prefix(PLACE, "main", "in")
    for mode in ("add", "replace"):
        repo, blobs = watched(world, ROWS)
        with pytest.raises(NoChanges):
            repo.import_prefix(PLACE, "main", "in", mode=mode)
        assert len(blobs.created) == len(set(blobs.created))


@pytest.mark.parametrize("mode", ["add", "replace"])
def test_a_lost_swap_costs_what_the_others_changed(world: World, mode: str) -> None:
    """Nothing is listed, gathered or built again."""
    world.branch().stage_many(table({f"in/{n:04}": n for n in range(100)}))
    world.branch().commit("base")
    before: list[int] = []

    def other(path: str) -> Callable[[], None]:
        def commit() -> None:
            before.append(len(blobs.created))
            world.branch().stage(path, entry(7))
            world.branch().commit(path)

        return commit

    repo, blobs = watched(world, ROWS, Interrupted(world.kv, other("a"), other("zz")))
    repo.import_prefix(PLACE, "main", "in", mode=mode)
    assert before[0] > 100
    assert len(blobs.created) - before[0] < 40
    assert len(shown(world)) == 302
    check_history(world.stores(), repo._active())


def test_a_dry_run_writes_no_object(world: World) -> None:
    world.branch().stage_many(table({"in/0001": 1, "in/x": 2}))
    world.branch().commit("base")
    repo, blobs = watched(world, ROWS)
    done = repo.import_prefix(PLACE, "main", "in", mode="replace", dry_run=True)
    assert done.changes is not None
    assert (done.changes.added, done.changes.changed, done.changes.removed) == (299, 1, 1)
    assert blobs.created == []


def test_what_is_not_there_costs_no_listing_of_it(world: World) -> None:
    """Refusals that need no listing come before it."""
    found = Listing(ROWS)
    calls: list[Namespace] = []

    class Places(Listings):
        def foreign(self, place: Namespace) -> Foreign:
            calls.append(place)
            return super().foreign(place)

    stores = replace(world.stores(), blobs=Places(world.blobs, {PLACE: found}))
    repo = Graveler(stores).repository("repo")
    done = repo.import_prefix(PLACE, "main", "in", idempotency_key="k")
    asked = len(calls)
    assert repo.import_prefix(PLACE, "main", "in", idempotency_key="k").commit == done.commit
    world.graveler().repository("repo").protect("main")
    with pytest.raises(PermissionDenied, match="is protected"):
        repo.import_prefix(PLACE, "main", "other")
    with pytest.raises(PermissionDenied, match="is protected"):
        repo.import_prefix(world.namespace("repo"), "main")
    assert len(calls) == asked


def test_a_small_import_is_kept_beside_the_ranges(world: World) -> None:
    """As any small commit."""
    watched(world, ROWS)[0].import_prefix(PLACE, "main", "in")
    uri = lake({"k": b"x"})
    repo, blobs = watched(world, ROWS)
    repo.import_prefix(uri, "main", "small")
    assert len(blobs.created) <= 3
    assert len(shown(world)) == 301
