"""Time budget for a whole operation, checked between two steps.

A step is a read of a store, which has its own time limits. The operation may therefore exceed the budget by one of
them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeVar

from graveler_core.errors import InvalidInput
from graveler_core.model.clock import Clock

T = TypeVar("T")
SECONDS = 60.0
"""Default budget, in seconds."""


class SpentError(Exception):
    """The budget is used up. Internal: the code that starts a part of the work catches the error and reports it."""


class Budget:
    """Time budget that starts now."""

    def __init__(self, clock: Clock, seconds: float) -> None:
        if not seconds > 0:
            raise InvalidInput(f"budget of {seconds} seconds: must be greater than 0")
        self._clock = clock
        self._end = clock.monotonic() + seconds

    @property
    def spent(self) -> bool:
        """True if the budget is used up."""
        return self._clock.monotonic() >= self._end

    def tick(self, more: int = 1) -> None:
        """Check the budget before another step. Can be used as the `progress` callback of a check.

        Raises:
            SpentError: The budget is used up.
        """
        del more
        if self.spent:
            raise SpentError

    def over(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the items while the budget lasts.

        Raises:
            SpentError: The budget is used up.
        """
        self.tick()
        for item in items:
            yield item
            self.tick()
