"""Repetition of requests that a server has refused because it is busy."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from graveler_core.errors import GravelerError, SlowDown

_T = TypeVar("_T")

Refusals = Sequence[tuple[int, GravelerError]]
"""Index and error of rows that a server has not written."""

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


def backing_off_rows(rows: Sequence[_T], send: Callable[[Sequence[_T]], Refusals]) -> None:
    """Send rows, and send those again, alone, that the server has refused because it is busy.

    Rows that were written are not sent again, because others may have changed them since.

    Args:
        rows: The rows.
        send: Function that sends rows in one request. It returns the index and the error of each row that was not
            written.

    Raises:
        GravelerError: The first error that is not `SlowDown`, or that of the last attempt. Other rows may be written.
    """
    for attempt in range(ATTEMPTS):
        refusals = send(rows)
        if not refusals:
            return
        errors = [error for _, error in refusals]
        failure = next((error for error in errors if not isinstance(error, SlowDown)), errors[0])
        if attempt == ATTEMPTS - 1 or not isinstance(failure, SlowDown):
            raise failure
        rows = [rows[index] for index, _ in refusals]
        pause(attempt)


def pause(attempt: int) -> None:
    """Sleep for a random time, which doubles with each attempt on average."""
    time.sleep(random.uniform(0, _PAUSE * 2**attempt))  # noqa: S311 - jitter, no secret
