"""Progress of long calls in the log of a run."""

import time
from collections.abc import Callable

import dagster as dg

SECONDS = 30.0
"""Time between two messages."""


def logged_progress(context: dg.OpExecutionContext, what: str) -> Callable[[int], object]:
    """Return a progress callback that writes to the log of the run from time to time.

    Args:
        context: Context of the op.
        what: What is counted, for example `objects listed`.
    """
    count, said = 0, time.monotonic()

    def progress(more: int) -> None:
        nonlocal count, said
        count += more
        if time.monotonic() - said > SECONDS:
            said = time.monotonic()
            context.log.info(f"{count:,} {what}")

    return progress
