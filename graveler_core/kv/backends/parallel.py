"""Requests of one call that are sent from several threads, because a server handles many at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

_T = TypeVar("_T")


def in_parallel(work: Callable[[_T], object], tasks: Iterable[_T], threads: int) -> None:
    """Run the work for each task, in several threads. After an error, no further task begins.

    The next task is taken when a thread is nearly free for it, so that few tasks are in memory.

    Args:
        work: Function of a task.
        tasks: The tasks, in any number.
        threads: Number of threads.

    Raises:
        Exception: The error of the first failed task, in the order of the tasks. All running tasks have ended.
    """
    running: deque[Future[object]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in tasks:
                running.append(pool.submit(work, task))
                if len(running) == 2 * threads:
                    running.popleft().result()
            for answer in running:
                answer.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
