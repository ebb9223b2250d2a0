"""Time of a tick. Dagster ends a tick after a minute. A tick that is ended stores neither its events nor its cursor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from logging import Logger
from time import monotonic
from typing import TypeVar

from graveler_core.model.counting import counted

SECONDS = 30.0
"""Time after which a tick stops, so that it stores what it has done."""
Watch = Callable[[], None]
"""Function that is called before each part of some work, and may raise an exception to end the work."""
_Branch = TypeVar("_Branch")


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


def in_half_the_time(log: Logger, branches: Sequence[_Branch]) -> Iterator[_Branch]:
    """Yield branches for half of the time of a tick, and at least one. The others are left to a later tick.

    Args:
        log: Log of the tick.
        branches: The branches.
    """
    time = TickTime(SECONDS / 2)
    for number, branch in enumerate(branches):
        if number and time.is_over:
            log.info(f"{counted(len(branches) - number, 'branch')} left to a later tick: the time of this one is over")
            return
        yield branch
