"""The bucket: what comes through at once, what waits, what is refused."""

from __future__ import annotations

import pytest

from graveler_core.errors import InvalidInput, Kind, SlowDown
from graveler_core.kv.backends.memory import open_memory
from graveler_core.testing.counting_store import Counting
from graveler_core.testing.limited_store import Limited, Rate
from tests.unit.kv.wrappers.still_clock import StillClock


def limited(rate: Rate) -> tuple[Limited, Counting, StillClock]:
    clock, inner = StillClock(), Counting(open_memory("memory://"))
    return Limited(inner, rate, clock), inner, clock


def test_a_burst_comes_through_at_once_and_the_rest_at_the_rate() -> None:
    store, _, clock = limited(Rate(per_second=4, burst=3))
    for _ in range(3):
        store.get(b"p", b"k")
    assert clock.slept == []
    for _ in range(4):
        store.get(b"p", b"k")
    assert clock.slept == [0.25] * 4


def test_a_rest_fills_the_bucket_and_no_more_than_that() -> None:
    store, _, clock = limited(Rate(per_second=4, burst=2))
    for rest in (0, 1_000):
        clock.time += rest
        clock.slept.clear()
        for _ in range(3):
            store.get(b"p", b"k")
        assert clock.slept == [0.25]


def test_callers_of_one_moment_wait_in_turn_and_the_last_ones_are_refused() -> None:
    store, inner, clock = limited(Rate(per_second=4, burst=1, longest_wait=0.5))
    clock.queueing = True
    for _ in range(3):
        store.get(b"p", b"k")
    assert clock.slept == [0.25, 0.5]
    for _ in range(2):
        with pytest.raises(SlowDown, match="limit of 4 calls per second is exceeded") as refused:
            store.set(b"p", b"k", b"v")
        assert refused.value.kind is Kind.StoreBusy
        assert refused.value.details["wait"] == 0.75
    assert inner.counts == {"get": 3}


def test_a_refused_call_takes_no_place() -> None:
    store, inner, clock = limited(Rate(per_second=4, burst=1, longest_wait=0))
    store.get(b"p", b"k")
    for _ in range(10):
        with pytest.raises(SlowDown):
            store.get(b"p", b"k")
    clock.time += 0.25
    store.get(b"p", b"k")
    assert inner.counts == {"get": 2}


def test_pages_are_calls() -> None:
    store, _, clock = limited(Rate(per_second=4, burst=1))
    store.inner.set(b"p", b"k", b"v")
    assert len(list(store.scan(b"p"))) == 1
    assert len(list(store.scan(b"p"))) == 1
    assert clock.slept == [0.25]


@pytest.mark.parametrize(
    "wrong",
    [{"per_second": 0}, {"per_second": -1}, {"per_second": 1, "burst": 0}, {"per_second": 1, "longest_wait": -1}],
)
def test_no_rate(wrong: dict[str, float]) -> None:
    with pytest.raises(InvalidInput, match="per_second"):
        Rate(**wrong)  # type: ignore[arg-type]
