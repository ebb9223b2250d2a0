"""Objects that a forked child can use, although the parent was using them at that moment.

A fork copies only the thread that forks. If another thread of the parent holds a lock, nobody releases the copy of the
lock in the child. If the child waited for the result of such a thread, it would wait forever.
"""

from __future__ import annotations

import os
import threading
from weakref import WeakSet


class ForkSafe:
    """Base of objects with the lock `_lock`. A forked child gets a new lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _ALL.add(self)

    def after_fork(self) -> None:
        """Replace the lock in the child. Subclasses also forget the work of other threads."""
        self._lock = threading.Lock()


_ALL: WeakSet[ForkSafe] = WeakSet()


def _after_fork() -> None:
    for each in list(_ALL):
        each.after_fork()


os.register_at_fork(after_in_child=_after_fork)
