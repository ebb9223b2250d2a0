"""A store around a store in which calls fail as they fail in the field, where and when a plan says so.

For tests and simulation. A plan is a function of the call and of its number, so a run that repeats its calls repeats
its faults. What a caller sees of a call:

    Refuse(error)   it was not done, and the error says so
    LoseRequest     it was not done, and nobody knows
    LoseAnswer      it was done, and nobody knows
    Late(calls)     nobody knows; a write is done just before the call that comes so many later (a server that goes on
                    working for a client that has gone)
    Delay(seconds)  it was done, later

"Nobody knows" is `OutcomeUnknown` for a write, and `Unavailable` for a read, which may be asked again.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from graveler_core.errors import GravelerError, OutcomeUnknown, Unavailable
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Call, Passing
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Refuse:
    """Error before: `SlowDown`, `Unavailable`, …; a new error of this kind each time."""

    error: Callable[[], GravelerError]


@dataclass(frozen=True, slots=True)
class LoseRequest:
    """Lost on the way there."""


@dataclass(frozen=True, slots=True)
class LoseAnswer:
    """Lost on the way back."""


@dataclass(frozen=True, slots=True)
class Late:
    """Lost for the caller, and done so many calls later; a read is not done."""

    calls: int


@dataclass(frozen=True, slots=True)
class Delay:
    """Done after so many seconds of the clock."""

    seconds: float


Fault = Refuse | LoseRequest | LoseAnswer | Late | Delay
Plan = Callable[[Call, int], Fault | None]
"""The fault of a call, given how many calls came before it; None for none."""


@dataclass(slots=True)
class _Progress:
    calls: int = 0
    late: list[tuple[int, Callable[[], Any]]] = field(default_factory=list)


class Faulty(Passing):
    """Passes calls on, or fails them, as the plan says. Exact for one thread at a time."""

    def __init__(self, inner: Store, plan: Plan, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self.plan = plan
        self._clock = clock or SystemClock()
        self._progress = _Progress()
        self._lock = Lock()

    def step(self, call: Call, work: Callable[[], T]) -> T:
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
        """Numbers a call, and does the late ones whose time has come."""
        with self._lock:
            number = self._progress.calls
            self._progress.calls += 1
            late = self._progress.late
            due = [work for when, work in late if when <= number]
            self._progress.late = [(when, work) for when, work in late if when > number]
        for work in due:
            # Nobody waits for its answer any more, not even for a refusal.
            with suppress(GravelerError):
                work()
        return number


def _lost(call: Call, fault: Fault) -> GravelerError:
    error = OutcomeUnknown if call.writes else Unavailable
    return error(f"{call.verb} of key {call.key!r}: planted {type(fault).__name__}", fault=type(fault).__name__)
