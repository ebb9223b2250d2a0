"""Queues of the writers of a partition, which all stores of a process share.

They are for databases in which concurrent writes of one partition make each other fail, even if they write different
rows. Writers of other processes are still concurrent.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Final

from graveler_core.errors import Kind, SlowDown
from graveler_core.model.counting import counted

_QUEUES: Final = 1_024
"""Number of queues. Partitions with the same hash share one."""


class PartitionQueues:
    """The queues of a process. A thread must be in at most one of them, so that no two threads wait for each other."""

    def __init__(self) -> None:
        self._locks = [Lock() for _ in range(_QUEUES)]

    @contextmanager
    def turn(self, place: tuple[str, bytes], patience: float) -> Iterator[None]:
        """Wait for the other writers of a partition, and hold the turn inside the `with` statement.

        Args:
            place: Name of the store, and partition.
            patience: Maximum time to wait, in seconds.

        Raises:
            SlowDown: The others took longer. Nothing was written.
        """
        lock = self._locks[hash(place) % _QUEUES]
        if not lock.acquire(timeout=patience):
            raise SlowDown(
                f"{place[0]}: other writers of a partition took more than {counted(patience, 'second')}",
                kind=Kind.StoreBusy,
                store=place[0],
            )
        try:
            yield
        finally:
            lock.release()

    def after_fork(self) -> None:
        """Replace the locks in the child process: the threads that hold them do not exist there."""
        self._locks = [Lock() for _ in range(_QUEUES)]


QUEUES: Final = PartitionQueues()
os.register_at_fork(after_in_child=QUEUES.after_fork)
