"""Time limit of flows that write files and later refer to them.

A sweep deletes files that are old and to which nothing refers. A flow must therefore refer to its files while they are
young. A flow that is slow, or a process that was suspended, ends with an error instead of referring to deleted files.

The shortest grace period of a sweep that runs beside other processes covers two such flows (`gc.sweep`), the hour for
which a layout may be cached, and the difference of the clocks.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from graveler_core.errors import Kind, SlowDown
from graveler_core.model.clock import Clock

BUILT_WITHIN: Final = timedelta(hours=10)
"""Time from the start of a flow until its last swap is sent."""
IMPORTED_WITHIN: Final = timedelta(days=3)
"""The same time for an import, which may list for long. It is less than half of the default grace period."""


def require_in_time(clock: Clock, begun: datetime, name: str, within: timedelta = BUILT_WITHIN) -> None:
    """Refuse to refer to files that a sweep may have deleted, or to records that a collection may have removed.

    Args:
        clock: Clock of the flow.
        begun: Time before the flow wrote the first of them, or found the first of them stored.
        name: Name of the flow, for the message.
        within: Time that the flow may take.

    Raises:
        SlowDown: The flow took longer, or the clock was set back (`RetriesExhausted`).
    """
    if _is_late(clock, begun, within):
        raise SlowDown(
            f"{name}: took more than {within}, so its files may have been deleted; nothing was changed, try again",
            kind=Kind.RetriesExhausted,
        )


def _is_late(clock: Clock, begun: datetime, within: timedelta) -> bool:
    return not timedelta(0) <= clock.now() - begun < within
