"""A store around a store that asks no more of it than so many calls a second.

A token bucket: calls come through at once as long as the bucket holds a token; then they wait for theirs, first come,
first served. Who would wait longer than the bound gets `SlowDown` at once and takes no place in the queue, so an
overload ends in refusals that callers know how to handle, not in a queue that grows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from graveler_core.errors import InvalidInput, SlowDown
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Call, Passing
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """How much may be asked: calls a second, calls at once after a rest, and seconds that a call waits at most."""

    per_second: float
    burst: int = 10
    longest_wait: float = 1.0

    def __post_init__(self) -> None:
        if not (self.per_second > 0 and self.burst >= 1 and self.longest_wait >= 0):
            raise InvalidInput(
                f"{self} is no rate: it needs calls a second, a burst of 1 or more, and a wait of 0 or more"
            )


class Limited(Passing):
    """Passes calls on at a bounded rate. A page of a scan and a verb for many keys are one call each."""

    def __init__(self, inner: Store, rate: Rate, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self._rate = rate
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._due = self._clock.monotonic() - rate.burst / rate.per_second
        """When the token of the next call is there; it lies in the past while there are some to spare."""

    def step(self, call: Call, work: Callable[[], T]) -> T:
        wait = self._take(call)
        if wait > 0:
            self._clock.sleep(wait)
        return work()

    def _take(self, call: Call) -> float:
        """Seconds until the call may run.

        Raises:
            SlowDown: They are too many; no token was taken.
        """
        rate = self._rate
        with self._lock:
            now = self._clock.monotonic()
            mine = max(self._due, now - (rate.burst - 1) / rate.per_second)
            if mine - now > rate.longest_wait:
                raise SlowDown(
                    f"{call.verb}: more than {rate.per_second:g} calls a second are asked of the store",
                    wait=mine - now,
                )
            self._due = mine + 1 / rate.per_second
        return mine - now
