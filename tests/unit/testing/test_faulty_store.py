"""Each fault: whether the call was done, and what its caller is told."""

from __future__ import annotations

import pytest

from graveler_core.errors import OutcomeUnknown, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.memory import open_memory
from graveler_core.kv.store import EXISTS, Store
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.testing.faulty_store import Delay, Fault, Faulty, Late, LoseAnswer, LoseRequest, Plan, Refuse
from tests.unit.kv.wrappers.still_clock import StillClock


def at(wanted: int, fault: Fault) -> Plan:
    return lambda call, number: fault if number == wanted else None


def value(store: Store) -> bytes | None:
    found = store.get(b"p", b"k")
    return found and found.value


@pytest.mark.parametrize(
    ("fault", "told", "done"),
    [
        (Refuse(lambda: SlowDown("later")), SlowDown, False),
        (LoseRequest(), OutcomeUnknown, False),
        (LoseAnswer(), OutcomeUnknown, True),
    ],
)
def test_a_write_that_fails(fault: Fault, told: type[Exception], done: bool) -> None:
    inner = open_memory("memory://")
    store = Faulty(inner, at(1, fault))
    store.set(b"p", b"k", b"old")
    with pytest.raises(told):
        store.set_if(b"p", b"k", b"new", EXISTS)
    assert value(inner) == (b"new" if done else b"old")
    store.set(b"p", b"k", b"newer")
    assert value(inner) == b"newer"


@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer(), Late(1)])
def test_a_read_that_fails_is_never_of_unknown_outcome(fault: Fault) -> None:
    store = Faulty(open_memory("memory://"), at(0, fault))
    with pytest.raises(Unavailable):
        store.get(b"p", b"k")
    assert store.get(b"p", b"k") is None


def test_a_late_write_is_done_before_a_later_call() -> None:
    inner = open_memory("memory://")
    store = Faulty(inner, at(0, Late(2)))
    with pytest.raises(OutcomeUnknown):
        store.set(b"p", b"k", b"late")
    assert value(store) is None
    assert value(inner) is None
    assert value(store) == b"late"


def test_a_late_swap_still_compares() -> None:
    inner = open_memory("memory://")
    store = Faulty(inner, at(0, Late(2)))
    with pytest.raises(OutcomeUnknown):
        store.set_if(b"p", b"k", b"late", None)
    store.set_if(b"p", b"k", b"mine", None)
    assert value(store) == b"mine"


def test_a_delay_is_slept_on_the_clock() -> None:
    clock = StillClock()
    store = Faulty(open_memory("memory://"), at(0, Delay(3)), clock)
    store.set(b"p", b"k", b"v")
    assert clock.time == 103
    assert value(store) == b"v"
    assert clock.time == 103


def test_a_plan_sees_every_call_in_order() -> None:
    seen: list[tuple[int, StoreCall]] = []

    def plan(call: StoreCall, number: int) -> Fault | None:
        seen.append((number, call))
        return None

    store = Faulty(open_memory("memory://"), plan)
    bulk.set_many(store, [(b"p", b"%04d" % number, b"") for number in range(1_500)])
    assert len(list(store.scan(b"p", prefix=b"0"))) == 1_000
    assert bulk.drop_partition(store, b"p") == 1_500
    assert seen == [
        (0, StoreCall("set_many", b"p", b"0000", 1_500)),
        (1, StoreCall("scan", b"p", b"0", page=0)),
        (2, StoreCall("scan", b"p", b"0999\x00", page=1)),
        (3, StoreCall("drop_partition", b"p")),
    ]
    assert [call.writes for _, call in seen] == [True, False, False, True]


def test_a_scan_fails_in_its_middle() -> None:
    store = Faulty(open_memory("memory://"), lambda call, number: LoseAnswer() if call.page else None)
    bulk.set_many(store, [(b"p", b"%04d" % number, b"") for number in range(1_500)])
    rows = store.scan(b"p")
    assert len([next(rows) for _ in range(1_000)]) == 1_000
    with pytest.raises(Unavailable):
        next(rows)
