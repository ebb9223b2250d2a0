"""Threads in which operations run, because the store and the object stores block.

The event loop hands an operation to a thread and continues. Handing over takes much of the time of a small request, so
each request is handed over only once.

A request whose body the client still sends runs in threads of its own (`RequestLimits.upload_threads`), because the
client decides how long it takes.
"""

from __future__ import annotations

from asyncio import Future, wrap_future
from collections.abc import Callable
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from threading import Lock
from typing import Final, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
MAX_THREADS: Final = 40
"""Number of operations that run at once. Further ones wait for a thread."""
WORKER_THREADS: Final = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="graveler-server")


class _UnderWay:
    """Number of operations that run or wait for a thread. Thread-safe."""

    def __init__(self) -> None:
        self._lock = Lock()
        self.number = 0

    def begin(self) -> None:
        with self._lock:
            self.number += 1

    def end(self, _: object) -> None:
        with self._lock:
            self.number -= 1


_under_way = _UnderWay()


def run_in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function in another thread. It is called even if nobody waits for its result.

    Args:
        function: The function.
        args: Its arguments.
        kwargs: Its named arguments.

    Returns:
        The result, to be awaited in the event loop that runs now.
    """
    return run_in(WORKER_THREADS, function, *args, **kwargs)


def run_in(threads: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> Future[T]:
    """Call a function in one of some threads, as `run_in_thread` does."""
    return wrap_future(submitted(threads, function, *args, **kwargs))


def submitted(
    threads: ThreadPoolExecutor, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> ThreadFuture[T]:
    """Call a function in one of some threads. Return the result, for threads."""
    running = threads.submit(partial(copy_context().run, function, *args, **kwargs))
    _under_way.begin()
    running.add_done_callback(_under_way.end)
    return running


def operations_run() -> bool:
    """Return true if an operation runs in a thread of this process, or waits for one."""
    return _under_way.number > 0
