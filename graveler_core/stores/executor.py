"""Where planned key intervals are worked on: threads here, Spark in `jobs`."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol, TypeVar

T = TypeVar("T")
U = TypeVar("U")


class Executor(Protocol):
    """Maps a pure function over planned work."""

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        """Results in the order of the items; the first error is raised."""
        ...


class Threads:
    """An executor of a few threads, begun at the first use."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        work_items = list(items)
        if len(work_items) < 2:
            return map(work, work_items)
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # no thread lives on in a forked child
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="graveler")
                self._process = os.getpid()
            return self._pool.map(work, work_items)
