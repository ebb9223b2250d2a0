"""Wrapper of a key-value store that injects faults, for tests and simulation.

A plan is a function of the call and its number, so a run with the same calls has the same faults. The faults are:

    Refuse(error)   the call is not executed, and raises the error
    LoseRequest     the call is not executed, and its outcome is unknown to the caller
    LoseAnswer      the call is executed, and its outcome is unknown to the caller
    Late(calls)     the outcome is unknown to the caller; a write is executed `calls` calls later, like on a server that
                    goes on working after its client has disconnected
    Delay(seconds)  the call is executed after a delay

A write with an unknown outcome raises `OutcomeUnknown`. A read raises `Unavailable`, because it can be repeated.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from graveler_core.errors import GravelerError, OutcomeUnknown, Unavailable
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refuse:
    """Raise an error, for example `SlowDown` or `Unavailable`, without executing the call."""

    error: Callable[[], GravelerError]
    """Function that creates a new error for each call."""


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """Lose the request: the call is not executed."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Lose the response: the call is executed."""


@dataclass(frozen=True, slots=True)
class Late:
    """Lose the response, and execute a write later. A read is not executed."""

    calls: int
    """Number of calls after which the write is executed."""


@dataclass(frozen=True, slots=True)
class Delay:
    """Execute the call after a delay."""

    seconds: float
    """Delay in seconds of the store's clock."""


Fault = Refuse | LoseRequest | LoseAnswer | Late | Delay
Plan = Callable[[StoreCall, int], Fault | None]
"""Function of a call and its number, counted from 0, that returns the fault to inject or `None`."""


@dataclass(slots=True)
class _Progress:
    calls: int = 0
    late: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)


class Faulty(Passing):
    """Store that passes calls on or injects the faults of a plan. Numbers are exact only with one thread at a time."""

    def __init__(self, inner: Store, plan: Plan, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self.plan = plan
        self._clock = clock or SystemClock()
        self._progress = _Progress()
        self._lock = Lock()

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        number = self._next()
        fault = self.plan(call, number)
        match fault:
            case None:
                return work()
            case Refuse():
                raise fault.error()
            case Delay():
                self._clock.sleep(fault.seconds)
                return work()
            case LoseAnswer():
                work()
            case Late() if call.writes:
                with self._lock:
                    self._progress.late.append((number + fault.calls, work))
        raise _lost(call, fault)

    def _next(self) -> int:
        """Return the number of the next call, and execute the late writes that are due."""
        with self._lock:
            number = self._progress.calls
            self._progress.calls += 1
            late = self._progress.late
            due = [work for when, work in late if when <= number]
            self._progress.late = [(when, work) for when, work in late if when > number]
        for work in due:
            # The caller has already received an error, so the result is ignored, even if it is an error.
            with suppress(GravelerError):
                work()
        return number


def _lost(call: StoreCall, fault: Fault) -> GravelerError:
    error = OutcomeUnknown if call.writes else Unavailable
    return error(f"{call.verb} of key {call.key!r}: injected {type(fault).__name__}", fault=type(fault).__name__)
