"""Wrapper of a key-value store that limits the rate of calls.

It uses a token bucket. A call runs at once if the bucket holds a token. Otherwise it waits for its token, in the order
of arrival. If the wait would be longer than a maximum, the call raises `SlowDown` at once and takes no token. So an
overload leads to errors that callers can handle, and the queue does not grow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import TypeVar

from graveler_core.errors import InvalidInput, SlowDown
from graveler_core.kv.store import Store
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.clock import Clock, SystemClock

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Rate:
    """Rate limit of a store.

    Raises:
        InvalidInput: A number is out of range.
    """

    per_second: float
    """Calls per second; greater than 0."""
    burst: int = 10
    """Number of calls that can run at once after an idle period; at least 1."""
    longest_wait: float = 1.0
    """Maximum time in seconds that a call waits; at least 0."""

    def __post_init__(self) -> None:
        if not (self.per_second > 0 and self.burst >= 1 and self.longest_wait >= 0):
            raise InvalidInput(
                f"{self} is invalid: per_second must be greater than 0, burst at least 1, longest_wait at least 0"
            )


class Limited(Passing):
    """Store that passes calls on at a limited rate. A page of a scan, and a method for many keys, count as one call."""

    def __init__(self, inner: Store, rate: Rate, clock: Clock | None = None) -> None:
        super().__init__(inner)
        self._rate = rate
        self._clock = clock or SystemClock()
        self._lock = Lock()
        self._due = self._clock.monotonic() - rate.burst / rate.per_second
        """Time at which the token of the next call is available. It is in the past if the bucket holds tokens."""

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        wait = self._take(call)
        if wait > 0:
            self._clock.sleep(wait)
        return work()

    def _take(self, call: StoreCall) -> float:
        """Take a token, and return the number of seconds until the call may run.

        Raises:
            SlowDown: The wait would be longer than the maximum. No token was taken.
        """
        rate = self._rate
        with self._lock:
            now = self._clock.monotonic()
            mine = max(self._due, now - (rate.burst - 1) / rate.per_second)
            if mine - now > rate.longest_wait:
                raise SlowDown(
                    f"{call.verb}: the limit of {rate.per_second:g} calls per second is exceeded",
                    wait=mine - now,
                )
            self._due = mine + 1 / rate.per_second
        return mine - now
