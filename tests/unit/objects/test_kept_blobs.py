"""Blobs that are found stored already: what is looked at, renewed, waited for."""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from unittest.mock import patch

import pytest

from graveler_core.blobs.open import open_blobs
from graveler_core.errors import OutcomeUnknown
from graveler_core.kv.backends.memory import open_memory
from graveler_core.objects.kept_blobs import FRESH, KeptBlobs
from graveler_core.objects.sweep_register import HOLD_TIME, WORK_TIME, SweepHold, SweepRegister
from graveler_core.records import layout as keys
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.unit.blobs.test_remote import OPTIONS, Server
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import CountedIds, FakeClock
from tests.unit.records.samples import REPOSITORY

ID = "ab" * 32
WHERE = f"_graveler/{ID}"


@pytest.fixture
def counted() -> CountingBlobs:
    return CountingBlobs(open_blobs(f"memory://kept-{uuid.uuid4().hex}/data"))


@pytest.fixture
def kv() -> Interposed:
    return Interposed(open_memory("memory://"))


@pytest.fixture
def kept(counted: CountingBlobs, kv: Interposed) -> KeptBlobs:
    return KeptBlobs(counted, SweepRegister(kv, REPOSITORY, FakeClock(), CountedIds()), time.time)


def other_ids() -> CountedIds:
    """Those of another process."""
    ids = CountedIds()
    ids.skip(1_000)
    return ids


def old(kept: KeptBlobs) -> KeptBlobs:
    """The same, an hour and more later."""
    return KeptBlobs(kept.beneath, kept.register, lambda: kept.wall() + FRESH.total_seconds() + 60)


def test_a_clock_that_is_behind_renews_what_seems_to_be_from_the_future(
    kept: KeptBlobs, counted: CountingBlobs
) -> None:
    counted.beneath.create(WHERE, b"x")
    behind = KeptBlobs(kept.beneath, kept.register, lambda: kept.wall() - FRESH.total_seconds() - 60)
    assert behind.create(WHERE, b"x") is False
    assert counted.calls["renew"] == 1


def test_what_is_new_costs_nothing_more(kept: KeptBlobs, counted: CountingBlobs, kv: Interposed) -> None:
    assert kept.create(WHERE, b"x") is True
    assert counted.calls == {"create": 1}
    assert kv.verbs == []


def test_what_is_young_is_looked_at(kept: KeptBlobs, counted: CountingBlobs, kv: Interposed) -> None:
    kept.create(WHERE, b"x")
    counted.reset()
    assert kept.create(WHERE, b"x") is False
    assert counted.calls == {"create": 1, "head": 1}
    assert kv.verbs == []


def test_what_is_old_is_renewed_under_the_register(kept: KeptBlobs, counted: CountingBlobs, kv: Interposed) -> None:
    kept.create(WHERE, b"x")
    counted.reset()
    assert old(kept).create(WHERE, b"x") is False
    assert counted.calls == {"create": 1, "head": 1, "renew": 1}
    assert kv.verbs == ["get", "set_if", "delete_if"]


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    yield running
    running.stop()


@pytest.mark.parametrize(("fault", "repetitions"), [("503 SlowDown", "10"), ("close", "0"), ("lost", "10")])
def test_what_a_repeated_creation_finds_is_renewed(
    server: Server, kept: KeptBlobs, kv: Interposed, fault: str, repetitions: str
) -> None:
    """It has the same bytes, but may be old, so a sweep may be about to delete it."""
    server.objects[f"/bucket/{WHERE}"] = b"x"
    server.script = [fault]
    endpoint = f"http://127.0.0.1:{server.http.server_port}"
    remote = open_blobs("s3://bucket", {**OPTIONS, "endpoint": endpoint, "max_retries": repetitions})
    assert KeptBlobs(remote, kept.register, time.time).create(WHERE, b"x") is False
    assert server.requests == ["PUT", "PUT", "HEAD", "GET", "PUT"]
    assert kv.verbs == ["get", "set_if", "delete_if"]


def test_other_addresses_are_left_alone(kept: KeptBlobs, counted: CountingBlobs) -> None:
    for where in ("data/x", f"_graveler/staging/{ID}/manifest", "_graveler/short"):
        assert old(kept).create(where, b"x") is True
        assert old(kept).create(where, b"x") is False
    assert counted.calls == {"create": 6}


@pytest.mark.parametrize("deleted_before", [0, 1, 2])
def test_what_goes_meanwhile_is_created_anew(kept: KeptBlobs, kv: Interposed, deleted_before: int) -> None:
    """A sweep that held the register before deletes it: before the renewal asks for it, or while it waits."""
    kept.create(WHERE, b"x")
    kv.before[deleted_before] = lambda: kept.beneath.delete(WHERE)
    assert old(kept).create(WHERE, b"x") is (deleted_before < 2)
    assert (kept.head(WHERE) is not None) is (deleted_before < 2)


def test_who_holds_the_register_is_waited_for(kept: KeptBlobs, kv: Interposed) -> None:
    """Until it is given back; and where nobody does, until its time is over."""
    register, clock = kept.register, kept.register.clock
    where = keys.sweeping(REPOSITORY)
    began = clock.now()
    with register.held():
        stored = kv.inner.get(where.partition, where.key)
        kv.before[len(kv.verbs) + 20] = lambda: kv.inner.delete(where.partition, where.key)
        with register.held():
            assert clock.now() - began < timedelta(seconds=10)
    assert stored is not None
    kv.inner.set(where.partition, where.key, stored.value)
    with register.held():
        assert clock.now() - began >= HOLD_TIME
    assert kv.inner.get(where.partition, where.key) is None


@pytest.mark.parametrize("happened", [True, False])
@pytest.mark.parametrize("call", [1, 2])
def test_lost_answers_of_the_register(kept: KeptBlobs, kv: Interposed, call: int, happened: bool) -> None:
    kv.lose[call] = happened
    with kept.register.held() as hold:
        assert hold.is_in_time()
    where = keys.sweeping(REPOSITORY)
    left = kv.inner.get(where.partition, where.key)
    assert (left is not None) is False or (call == 2 and not happened)


def test_a_clock_that_is_ahead_takes_nothing_over_sooner(kept: KeptBlobs, kv: Interposed) -> None:
    """Nobody knows by how much the clocks of two machines differ."""
    ahead = FakeClock()
    ahead.time += timedelta(days=1)
    began = ahead.monotonic()
    with kept.register.held(), SweepRegister(kv, REPOSITORY, ahead, other_ids()).held():
        assert ahead.monotonic() - began >= HOLD_TIME.total_seconds()


def test_a_new_holder_has_its_own_time(kept: KeptBlobs, kv: Interposed) -> None:
    """A waiter that sees another holder each time does not add up their times."""
    clock, where = FakeClock(), keys.sweeping(REPOSITORY)
    waiter = SweepRegister(kv, REPOSITORY, clock, other_ids())
    times = int(HOLD_TIME.total_seconds())

    def others_take_turns() -> None:
        """One holder after the other, each for ten seconds, whenever the waiter reads."""
        kv.inner.delete(where.partition, where.key)
        context = kept.register.held()
        context.__enter__()
        contexts.append(context)
        if len(contexts) < times:
            kv.before[len(kv.verbs) + 200] = others_take_turns

    contexts = list[AbstractContextManager[SweepHold]]()
    kv.before[0] = others_take_turns
    began = clock.monotonic()
    with waiter.held():
        assert len(contexts) == times
        assert clock.monotonic() - began >= times * 10


@pytest.mark.parametrize("asleep", [False, True])
def test_who_holds_it_for_too_long_stops(kept: KeptBlobs, asleep: bool) -> None:
    """By the monotonic clock, which nobody sets; and by the other, which goes on while the machine sleeps."""
    clock = kept.register.clock
    assert isinstance(clock, FakeClock)
    with kept.register.held() as hold:
        stood, showed = clock.monotonic(), clock.now()
        clock.sleep(WORK_TIME.total_seconds())
        one, other = (lambda: stood, clock.now) if asleep else (clock.monotonic, lambda: showed)
        with patch.object(clock, "monotonic", one), patch.object(clock, "now", other):
            assert not hold.is_in_time()


def test_a_lost_answer_makes_nobody_hold_it_for_longer(kept: KeptBlobs, kv: Interposed) -> None:
    """The time counts from before the request that took it, and not from when that was noticed."""
    clock = kept.register.clock
    kv.lose[1] = True
    kv.before[2] = lambda: clock.sleep(WORK_TIME.total_seconds())
    with kept.register.held() as hold:
        assert not hold.is_in_time()


@pytest.mark.parametrize("deleting", [False, True])
def test_who_fails_to_delete_leaves_the_register(kept: KeptBlobs, kv: Interposed, deleting: bool) -> None:
    """A deletion may still arrive, so nobody renews a file before it has."""
    where = keys.sweeping(REPOSITORY)

    def fail() -> None:
        with kept.register.held() as hold:
            hold.deleting = deleting
            raise OutcomeUnknown("lost")

    with pytest.raises(OutcomeUnknown):
        fail()
    assert (kv.inner.get(where.partition, where.key) is not None) is deleting


def test_failures_pass(kept: KeptBlobs, counted: CountingBlobs) -> None:
    kept.create(WHERE, b"x")
    failing = CountingBlobs(counted, lambda verb, _: OutcomeUnknown("lost") if verb == "renew" else None)
    with pytest.raises(OutcomeUnknown):
        old(KeptBlobs(failing, kept.register, kept.wall)).create(WHERE, b"x")
    assert kept.read(WHERE) == b"x"
