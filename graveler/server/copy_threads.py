"""Threads for operations that copy content, which can take minutes. They leave the worker threads to other requests."""

from __future__ import annotations

from asyncio import Future, wrap_future
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from threading import Lock
from typing import Final, ParamSpec, TypeVar

from graveler.server.worker_threads import submitted
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.counting import counted

P = ParamSpec("P")
T = TypeVar("T")
COPIES_AT_ONCE: Final = 8
"""Number of copies that run at once."""
MAX_COPIES: Final = 64
"""Number of copies that run or wait for a thread. Further ones are refused."""


class CopyThreads:
    """Threads for copies of one process. Thread-safe."""

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

    def run(self, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Call a function in one of the threads. It is called even if nobody waits for its result.

        Args:
            function: The function.
            args: Its arguments.
            kwargs: Its named arguments.

        Returns:
            The result, to be awaited in the event loop that runs now.

        Raises:
            Unavailable: (`StoreBusy`) Too many copies run or wait.
        """
        with self._lock:
            if self._copies >= self._most:
                raise Unavailable(
                    f"the server copies the content of {counted(self._copies, 'request')} already; try again",
                    kind=Kind.StoreBusy,
                )
            self._copies += 1
        running = submitted(self._threads, function, *args, **kwargs)
        running.add_done_callback(self._ended)
        return wrap_future(running)

    def _ended(self, copy: ThreadFuture[T]) -> None:
        with self._lock:
            self._copies -= 1
