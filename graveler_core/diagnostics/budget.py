"""Bounded time: a number of seconds for everything, looked at between two steps.

A step is a read of a store, which has time limits of its own; so the whole may take longer by one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from graveler_core.errors import InvalidInput
from graveler_core.model.clock import Clock

T = TypeVar("T")
SECONDS = 60.0
"""Where nothing else is said."""


class SpentError(Exception):
    """The time is over. No error of a user's: whoever begins a part of the work catches it, and says so."""


class Budget:
    """Seconds that begin now."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        if not seconds > 0:
            raise InvalidInput(f"budget of {seconds} seconds: must be more than nothing")
        self._clock = clock
        self._end = clock.monotonic() + seconds

    @property
    def spent(self) -> bool:
        """Whether the time is over."""
        return self._clock.monotonic() >= self._end

    def tick(self, more: int = 1) -> None:
        """Another step may begin. Raises `SpentError`; so it serves as the `progress` of a check."""
        del more
        if self.spent:
            raise SpentError

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """The same items as long as there is time. Raises `SpentError`."""
        self.tick()
        for item in items:
            yield item
            self.tick()
