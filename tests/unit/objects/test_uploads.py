"""Uploads: whoever announces that entries will name their objects, and whoever deletes them as a dead job's, exclude
each other, at every call of either."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from itertools import count
from typing import TypeVar

import pytest

from graveler_core.errors import Conflict, Kind, OutcomeUnknown
from graveler_core.gc.candidates import uploads_in_progress
from graveler_core.gc.sweep import GRACE, SweepPlan, Swept, sweep
from graveler_core.gc.uploads import purge
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.entities import UploadState
from graveler_core.objects.uploads import Uploads, prefix
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.testing.faulty_store import Faulty, Late, LoseAnswer, LoseRequest
from tests.unit.engine.world import World

T = TypeVar("T")
LATER = GRACE + timedelta(minutes=1)


class Cut(Exception):
    """The process dies."""


class At(Passing):
    """Does something before the n-th call that is about an upload."""

    def __init__(self, inner: Store, number: int, what: Callable[[], object]) -> None:
        super().__init__(inner)
        self._left = number
        self._what = what
        self.reached = False

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        if b"uploads/" in call.key:
            if not self._left:
                self.reached = True
                self._what()
            self._left -= 1
        return work()


@pytest.fixture
def world() -> World:
    made = World()
    made.repository()
    return made


def uploads(world: World, kv: Store | None = None) -> Uploads:
    stores = world.stores(kv)
    record = world.graveler().repository("repo")._active()
    return Uploads(stores.kv, stores.blobs.at(record.storage_namespace), record, stores.clock, stores.ids)


def stored(world: World, files: int = 2) -> str:
    """An upload with files."""
    at = uploads(world)
    id = at.begin()
    for n in range(files):
        at.blobs.create(f"{prefix(id)}{n}", b"data")
    return id


def objects(world: World, id: str) -> int:
    return len(list(uploads(world).blobs.list(prefix(id))))


def state(world: World, id: str) -> str:
    held = uploads(world).find(id)
    return "none" if held is None else held.value.state.value


def purged(world: World, kv: Store | None = None) -> int:
    """Without any grace: whatever stands is old."""
    return purge(uploads(world, kv), world.clock.now(), 1_000, dry_run=False).blobs


def test_what_was_named_stays(world: World) -> None:
    id = stored(world)
    at = uploads(world)
    named = at.name([id])
    assert state(world, id) == "naming"
    assert purged(world) == 0
    at.settle(named)
    assert (state(world, id), objects(world, id)) == ("none", 2)
    assert purged(world) == 0
    assert objects(world, id) == 2


def test_what_is_given_up_goes(world: World) -> None:
    first, second, third = stored(world), stored(world), stored(world)
    at = uploads(world)
    named = at.name([second])
    at.give_up([first])
    uploads(world).give_up([second])
    assert [(state(world, id), objects(world, id)) for id in (first, second)] == [("none", 0), ("naming", 2)]
    at.give_up(named, named)
    assert (state(world, second), objects(world, second)) == ("none", 0)
    at.give_up([first, "0" * 32])
    assert objects(world, third) == 2


def test_an_upload_is_announced_once(world: World) -> None:
    """Two who would name it could not tell when it may be given up."""
    id = stored(world)
    uploads(world).name([id])
    for gone in (id, "0" * 32):
        with pytest.raises(Conflict, match="took longer than the grace period of a sweep") as raised:
            uploads(world).name([gone])
        assert raised.value.kind is Kind.Discarded
    assert objects(world, id) == 2


def test_where_one_is_gone_none_is_announced(world: World) -> None:
    """Else the others would look as if something named them."""
    first, gone, last = stored(world), stored(world), stored(world)
    purged_one = uploads(world)
    purged_one.give_up([gone])
    with pytest.raises(Conflict):
        uploads(world).name([first, gone, last])
    assert [state(world, id) for id in (first, gone, last)] == ["none", "none", "uploading"]
    assert [objects(world, id) for id in (first, gone, last)] == [0, 0, 2]


def test_a_creation_without_an_answer_is_no_upload(world: World) -> None:
    """Sent once: what comes late, or not, has no objects."""
    kv = Faulty(world.kv, lambda call, _: Late(2) if call.key.startswith(b"uploads/") and call.writes else None)
    with pytest.raises(OutcomeUnknown):
        uploads(world, kv).begin()
    kv.get(b"p", b"k")
    kv.get(b"p", b"k")
    assert [held.value.state for _, held in uploads(world).standing()] == [UploadState.UPLOADING]
    assert purged(world) == 0


@pytest.mark.parametrize("named", [False, True])
def test_the_time_of_an_upload_from_a_clock_far_ahead_begins_again(world: World, named: bool) -> None:
    """Else it would be kept until that time."""
    world.clock.time += timedelta(days=365)
    id = stored(world)
    if named:
        uploads(world).name([id])
    world.clock.time -= timedelta(days=365)
    before = state(world, id)
    for dry_run in (True, False):
        purge(uploads(world), world.clock.now() - GRACE, 1_000, dry_run=dry_run)
        assert (state(world, id), objects(world, id)) == (before, 2)
    world.clock.time += LATER
    purge(uploads(world), world.clock.now() - GRACE, 1_000, dry_run=False)
    assert (state(world, id), objects(world, id)) == (("none", 2) if named else ("purging", 0))


@pytest.mark.parametrize("fault", [LoseAnswer(), LoseRequest(), Late(1), Late(2), Late(3)])
def test_an_announcement_without_an_answer(world: World, fault: LoseAnswer | LoseRequest | Late) -> None:
    """It is asked for; whatever comes late finds another record."""
    id, faults = stored(world), [fault]
    kv = Faulty(world.kv, lambda call, _: faults.pop() if faults and call.verb == "set_if" else None)
    at = uploads(world, kv)
    named = at.name([id])
    assert purged(world) == 0
    at.settle(named)
    for _ in range(4):
        kv.get(b"p", b"k")
    assert (state(world, id), objects(world, id)) == ("none", 2)


def test_a_purge_at_any_call_of_an_announcement() -> None:
    """Either the objects are there, or the announcement is refused."""
    for number in count():
        world = World()
        world.repository()
        id = stored(world)
        kv = At(world.kv, number, lambda world=world: purged(world))
        try:
            uploads(world, kv).name([id])
        except Conflict:
            assert objects(world, id) == 0
        else:
            assert (state(world, id) in ("naming", "none"), objects(world, id)) == (True, 2)
            assert purged(world) == 0
        if not kv.reached:
            assert number > 1
            return


def test_an_announcement_at_any_call_of_a_purge() -> None:
    for number in count():
        world = World()
        world.repository()
        id = stored(world)
        done = list[bool]()

        def announce(world: World = world, id: str = id, done: list[bool] = done) -> None:
            try:
                uploads(world).name([id])
            except Conflict:
                done.append(False)
            else:
                done.append(True)

        kv = At(world.kv, number, announce)
        purged(world, kv)
        if not kv.reached:
            assert number > 1
            return
        assert objects(world, id) == (2 if done == [True] else 0)


@pytest.mark.parametrize("flow", ["name", "give up", "settle", "purge"])
def test_a_crash_at_any_call(flow: str) -> None:
    """What is named stays, all else is deleted by later purges, and no record is left."""

    def die() -> None:
        raise Cut

    for number in count():
        world = World()
        world.repository()
        id = stored(world)
        kv = At(world.kv, number, die)
        at = uploads(world, kv)
        named = uploads(world).name([id]) if flow == "settle" else {}
        with suppress(Cut):
            if flow == "name":
                at.name([id])
            elif flow == "give up":
                at.give_up([id])
            elif flow == "settle":
                at.settle(named)
            else:
                purged(world, kv)
        may_be_named = state(world, id) == "naming" or flow == "settle"
        for _ in range(2):
            purged(world)
        assert (state(world, id), objects(world, id)) == ("none", 2 if may_be_named else 0)
        if not kv.reached:
            return


class TestSweep:
    """By the public verb: the grace, dry runs, limits."""

    def swept(self, world: World, **plan: object) -> Swept:
        return sweep(world.stores(), uploads(world).repository, SweepPlan(**plan))  # type: ignore[arg-type]

    def test_only_where_it_is_asked_for_and_old(self, world: World) -> None:
        id = stored(world)
        assert self.swept(world, uploads=True).young >= 1
        world.clock.sleep(LATER.total_seconds())
        assert self.swept(world).uploads == 0
        assert objects(world, id) == 2
        for dry_run in (True, False):
            done = self.swept(world, uploads=True, dry_run=dry_run)
            assert (done.uploads, done.blobs, done.size) == (1, 2, 8)
        assert (state(world, id), objects(world, id)) == ("purging", 0)

    def test_what_a_zombie_stores_is_found_later(self, world: World) -> None:
        id = stored(world)
        world.clock.sleep(LATER.total_seconds())
        self.swept(world, uploads=True)
        uploads(world).blobs.create(f"{prefix(id)}9", b"late")
        assert self.swept(world, uploads=True).blobs == 1
        assert state(world, id) == "purging"
        uploads(world).blobs.create(f"{prefix(id)}9", b"later")
        world.clock.sleep(LATER.total_seconds())
        assert self.swept(world, uploads=True).blobs == 1
        assert (state(world, id), objects(world, id)) == ("none", 0)

    def test_a_driver_that_died_while_it_named(self, world: World) -> None:
        id = stored(world)
        uploads(world).name([id])
        assert self.swept(world, uploads=True).uploads == 0
        assert state(world, id) == "naming"
        world.clock.sleep(LATER.total_seconds())
        assert self.swept(world, uploads=True, dry_run=True).blobs == 0
        assert state(world, id) == "naming"
        assert self.swept(world, uploads=True).blobs == 0
        assert (state(world, id), objects(world, id)) == ("none", 2)

    def test_the_limit_ends_between_uploads(self, world: World) -> None:
        ids = [stored(world) for _ in range(3)]
        world.clock.sleep(LATER.total_seconds())
        done = self.swept(world, uploads=True, limit=3)
        assert (done.uploads, done.blobs, done.rest) == (2, 4, 1)
        assert sorted(objects(world, id) for id in ids) == [0, 0, 2]

    def test_what_lies_beside_is_left_alone(self, world: World) -> None:
        world.branch().put("a", b"kept")
        at = uploads(world)
        at.blobs.create("data/other/0", b"a user's")
        access.write(at.kv, keys.uploads(at.repository).at("other"), at._now(UploadState.UPLOADING, None))
        access.write(at.kv, keys.uploads(at.repository).at(""), at._now(UploadState.UPLOADING, None))
        world.clock.sleep(LATER.total_seconds())
        assert self.swept(world, uploads=True).uploads == 0
        assert at.blobs.read("data/other/0") == b"a user's"
        assert world.branch().read("a") == b"kept"

    def test_a_damaged_record_stops_neither_the_others_nor_a_collection(self, world: World) -> None:
        kept, gone = stored(world), stored(world)
        at = uploads(world)
        folders = keys.uploads(at.repository), keys.upload_parts(at.repository)
        for where in (folders[0].at(kept), folders[0].at("other"), folders[1].at(f"{gone}/1")):
            at.kv.set(where.partition, where.key, b"damaged")
        world.clock.sleep(LATER.total_seconds())
        assert uploads_in_progress(world.stores(), at.repository) == {kept, gone}
        done = self.swept(world, uploads=True)
        assert (done.uploads, done.blobs, done.unreadable) == (1, 2, 1)
        assert (objects(world, kept), objects(world, gone)) == (2, 0)
