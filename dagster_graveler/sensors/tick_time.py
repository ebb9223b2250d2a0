"""Time of a tick. Dagster ends a tick after a minute. A tick that is ended stores neither its events nor its cursor."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

SECONDS = 30.0
"""Time after which a tick stops, so that it stores what it has done."""
Watch = Callable[[], None]
"""Function that is called before each part of some work, and may raise an exception to end the work."""


class OutOfTime(Exception):
    """The time of the tick is used up."""


def unwatched() -> None:
    """Do nothing: the `Watch` of work without a limit."""


class TickTime:
    """Time that a tick has left, from now on.

    Args:
        seconds: The time; less than `SECONDS` for a part of the tick.
    """

    def __init__(self, seconds: float = SECONDS) -> None:
        self._end = monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """True if the time is used up."""
        return monotonic() >= self._end

    def check(self) -> None:
        """Do nothing while there is time.

        Raises:
            OutOfTime: The time is used up.
        """
        if self.is_over:
            raise OutOfTime
