"""The process in which obstore was first used.

obstore works in threads of its own, which do not exist after a fork. A request in the child would wait for them without
end, so it is refused. Stores in memory need no threads, but their first use starts them.
"""

from __future__ import annotations

import os

from graveler_core.errors import Unavailable

_processes: list[int] = []
"""Processes that have used obstore, the first one at the beginning."""


def note_use() -> None:
    """Note that this process is about to use obstore, unless an earlier use was noted, perhaps before a fork."""
    if not _processes:
        _processes.append(os.getpid())


def require_first_process(shown: str) -> None:
    """Check that obstore was not used before this process was forked.

    Args:
        shown: The store that is about to be used, for the message.

    Raises:
        Unavailable: obstore was used before this process was forked.
    """
    if _processes and os.getpid() != _processes[0]:
        raise Unavailable(
            f"{shown}: cannot be used in a process that was forked after a bucket, or a storage namespace in memory, "
            "was opened; start processes with the method spawn or forkserver",
            store=shown,
        )
