"""Pauses between attempts, on a clock and with chances that the test decides. Behaviours 74 and 75 of Nessie.

Where ours differ: the budget is of time, not of retries; the first retry is at once; the lower bound of a pause is
nothing; and what the attempt itself has cost is taken off the pause.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.engine.protocol.registers import settled
from graveler_core.engine.protocol.retry import retry
from graveler_core.errors import Kind, SlowDown
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.stores import RetryBudget, Stores
from tests.unit.engine.world import CountedIds, FakeClock, World


class Slept(FakeClock):
    """Stands still but in sleep, and remembers the sleeps."""

    def __init__(self) -> None:
        super().__init__()
        self.pauses: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        super().sleep(seconds)

    @property
    def total(self) -> float:
        return sum(self.pauses)


class Chances(CountedIds):
    """Always the same chance."""

    def __init__(self, chance: float) -> None:
        super().__init__()
        self.chance = chance

    def uniform(self) -> float:
        return self.chance


BUDGET = RetryBudget(total=10.0, least=0.5, most=3.0)


def stores(chance: float = 1.0, budget: RetryBudget = BUDGET) -> tuple[Stores, Slept]:
    clock = Slept()
    return replace(World().stores(), clock=clock, ids=Chances(chance), retry_budget=budget), clock


def failing(times: int) -> Callable[[], int | None]:
    """An attempt that gives its number when it has failed so many times before."""
    numbers = iter(range(times + 1))
    return lambda: number if (number := next(numbers)) == times else None


def lasting(clock: Slept, time: timedelta, attempt: Callable[[], int | None]) -> Callable[[], int | None]:
    """An attempt that takes some time."""

    def lasted() -> int | None:
        clock.time += time
        return attempt()

    return lasted


def test_74_the_first_attempt_waits_for_nothing() -> None:
    given, clock = stores()
    assert retry(given, "this", failing(0)) == 0
    assert clock.pauses == []


def test_74_the_first_retry_is_at_once_and_the_others_wait() -> None:
    given, clock = stores()
    assert retry(given, "this", failing(2)) == 2
    assert len(clock.pauses) == 1


def test_74_what_is_given_up_says_how_often_and_how_long() -> None:
    given, clock = stores()
    with pytest.raises(SlowDown, match=r"this: gave way 5 times in 8\.0 s") as caught:
        retry(given, "this", failing(1_000))
    assert clock.pauses == [2.0, 3.0, 3.0]
    assert caught.value.kind is Kind.RetriesExhausted
    assert caught.value.details["attempts"] == 5


def test_75_the_bound_doubles_up_to_the_most() -> None:
    given, clock = stores(budget=RetryBudget(total=60.0, least=0.5, most=3.0))
    retry(given, "this", failing(5))
    assert clock.pauses == [2.0, 3.0, 3.0, 3.0]


@pytest.mark.parametrize("chance", [0.0, 0.25, 1.0])
def test_75_a_pause_is_drawn_below_its_bound(chance: float) -> None:
    given, clock = stores(chance, RetryBudget(total=60.0, least=0.5, most=3.0))
    retry(given, "this", failing(4))
    assert clock.pauses == [chance * bound for bound in (2.0, 3.0, 3.0) if chance]


def test_75_no_pause_goes_past_the_deadline() -> None:
    given, clock = stores()
    with pytest.raises(SlowDown):
        retry(given, "this", failing(1_000))
    assert clock.total <= BUDGET.total


def test_the_cost_of_an_attempt_widens_the_bound_and_is_taken_off_the_pause() -> None:
    given, clock = stores(chance=0.75, budget=RetryBudget(total=60.0, least=0.001, most=30.0))
    retry(given, "this", lasting(clock, timedelta(seconds=2), failing(2)))
    assert clock.pauses == [pytest.approx(0.75 * 8 - 2, abs=0.001)]


def test_an_attempt_longer_than_its_pause_is_followed_at_once() -> None:
    given, clock = stores(chance=0.1, budget=RetryBudget(total=60.0, least=0.001, most=3.0))
    retry(given, "this", lasting(clock, timedelta(seconds=2), failing(3)))
    assert clock.pauses == []


def test_attempts_longer_than_the_budget_are_made_three_times() -> None:
    given, clock = stores()
    with pytest.raises(SlowDown, match="gave way 3 times in 3600") as caught:
        retry(given, "this", lasting(clock, timedelta(minutes=20), failing(1_000)))
    assert (caught.value.details["attempts"], clock.pauses) == (3, [])


def test_what_swaps_nothing_does_not_pause() -> None:
    """A read that was overtaken is in nobody's way: were it to pause, it would starve where commits are many."""
    world = World()
    world.repository()
    clock = Slept()
    given = replace(world.stores(), clock=clock, ids=Chances(1.0))
    overtaken = iter([False] * 50 + [True])
    settled(
        given, RepositoryId("repo"), BranchId("main"), lambda registers: None, same=lambda used, now: next(overtaken)
    )
    assert clock.total <= 50 * given.retry_budget.least
