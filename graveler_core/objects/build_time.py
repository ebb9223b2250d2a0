"""Time limit of flows that write files and later refer to them.

A sweep deletes files that are old and to which nothing refers. A flow must therefore refer to its files while they are
young. A flow that is slow, or a process that was suspended, ends with an error instead of referring to deleted files.

The shortest grace period of a sweep that runs beside other processes covers two such flows (`gc.sweep`), the hour for
which a layout may be cached, and the difference of the clocks.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from graveler_core.errors import Kind, SlowDown
from graveler_core.model.clock import Clock, Instant

BUILT_WITHIN: Final = timedelta(hours=10)
"""Time from the start of a flow until its last swap is sent."""


def require_in_time(clock: Clock, begun: Instant, name: str) -> None:
    """Refuse to refer to files that a sweep may have deleted, or to records that a collection may have removed.

    Args:
        clock: Clock of the flow.
        begun: Moment before the flow wrote the first of them, or found the first of them stored.
        name: Name of the flow, for the message.

    Raises:
        SlowDown: The flow has taken longer than `BUILT_WITHIN`, or the clock was set back (`RetriesExhausted`).
    """
    if _is_late(clock, begun):
        raise SlowDown(
            f"{name}: took more than {BUILT_WITHIN}; its files may be gone; nothing was changed, try again",
            kind=Kind.RetriesExhausted,
        )


def _is_late(clock: Clock, begun: Instant) -> bool:
    return not begun.is_within(BUILT_WITHIN.total_seconds(), Instant.of(clock))
