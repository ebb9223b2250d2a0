"""Threads for operations that copy content, which can take minutes. They leave the worker threads to other requests.

A client that waits too long for an answer repeats its request. Repetitions share the copy that runs.
"""

from __future__ import annotations

from asyncio import Future, wait, wrap_future
from collections.abc import Callable, Hashable
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Any, Final, TypeVar

from graveler.server.worker_threads import submitted
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.counting import counted

T = TypeVar("T")
COPIES_AT_ONCE: Final = 8
"""Number of copies that run at once."""
MAX_COPIES: Final = 64
"""Number of copies that run or wait for a thread. Further ones are refused."""


class CopyThreads:
    """Threads for copies of one process. Use them in one event loop."""

    def __init__(self, at_once: int = COPIES_AT_ONCE, most: int = MAX_COPIES) -> None:
        """Create the threads.

        Args:
            at_once: Number of copies that run at once.
            most: Number of copies that run or wait.
        """
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="graveler-copy")
        self._most = most
        self._lock = Lock()
        self._copies = 0
        self._shared: dict[Hashable, Future[Any]] = {}
        """Copies that run or wait, by the value that repetitions have in common."""

    def run(self, copy: Callable[[], T], repeated: Hashable) -> Future[T]:
        """Call a function in one of the threads. It is called even if nobody waits for its result.

        Args:
            copy: The function.
            repeated: Value that repetitions of a request have in common. While a copy with this value runs, its result
                is returned. `None` means that each request makes a copy.

        Returns:
            The result. Cancel it only if nobody else may wait for it: see `ended_within`.

        Raises:
            Unavailable: (`StoreBusy`) Too many copies run or wait.
        """
        found = self._shared.get(repeated)
        if found is None:
            found = self._begun(copy)
            if repeated is not None:
                self._shared[repeated] = found
                found.add_done_callback(lambda _: self._shared.pop(repeated))
        return found

    def _begun(self, copy: Callable[[], T]) -> Future[T]:
        with self._lock:
            if self._copies >= self._most:
                raise Unavailable(
                    f"the server copies the content of {counted(self._copies, 'request')} already; try again",
                    kind=Kind.StoreBusy,
                )
            self._copies += 1
        running = submitted(self._threads, copy)
        running.add_done_callback(self._ended)
        shown = wrap_future(running)
        shown.add_done_callback(_look_at)
        return shown

    def _ended(self, copy: ThreadFuture[T]) -> None:
        with self._lock:
            self._copies -= 1


async def ended_within(running: Future[T], seconds: float | None) -> bool:
    """Wait for a copy. Return true if it has ended. The copy goes on if the wait is cancelled."""
    ended, _ = await wait({running}, timeout=seconds)
    return bool(ended)


def _look_at(copy: Future[T]) -> None:
    """Look at the error of a copy. Without it, one that no client waits for any more would be reported as forgotten."""
    if not copy.cancelled():
        copy.exception()
