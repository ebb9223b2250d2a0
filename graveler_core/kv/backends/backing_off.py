"""Repetition of requests that a server has refused because it is busy."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Final, TypeVar

from graveler_core.errors import SlowDown

_T = TypeVar("_T")

ATTEMPTS: Final = 6
"""Maximum number of attempts. All pauses together take at most 0.8 seconds; the caller then decides."""
_PAUSE: Final = 0.025


def backing_off(work: Callable[[], _T]) -> _T:
    """Run the work, and repeat it while it raises `SlowDown`. A refused request has changed nothing.

    Raises:
        SlowDown: The last attempt was refused, too.
    """
    for attempt in range(ATTEMPTS - 1):
        try:
            return work()
        except SlowDown:
            pause(attempt)
    return work()


def pause(attempt: int) -> None:
    """Sleep for a random time, which doubles with each attempt on average."""
    time.sleep(random.uniform(0, _PAUSE * 2**attempt))  # noqa: S311 - jitter, no secret
