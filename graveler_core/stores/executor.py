"""Port for executing planned work in parallel on this machine."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Final, Protocol, TypeVar, cast

from graveler_core.model.forks import ForkSafe

T = TypeVar("T")
U = TypeVar("U")


class Executor(Protocol):
    """Maps a pure function over planned work."""

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        """Yield results in the order of the items. The first error is raised."""

    def ahead(self, items: Iterable[T]) -> Iterator[T]:
        """Yield the same items, computing the next few while the caller works on one."""


_AHEAD: Final = 2
"""Number of items computed ahead, so that neither side waits for one slow item."""
_END: Final = object()


class Threads(ForkSafe):
    """Executor with a few threads, which start with the first use."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        super().__init__()

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        work_items = list(items)
        if len(work_items) < 2:
            return map(work, work_items)
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # a forked child has no threads
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="graveler")
                self._process = os.getpid()
            return self._pool.map(work, work_items)

    def ahead(self, items: Iterable[T]) -> Iterator[T]:
        iterator = iter(items)
        # The start of a thread costs more than it saves for one or two items. So it starts with the third item.
        for _ in range(2):
            following = next(iterator, _END)
            if following is _END:
                return
            yield cast(T, following)
        pool = ThreadPoolExecutor(1, thread_name_prefix="graveler-ahead")
        try:
            made = deque(pool.submit(next, iterator, _END) for _ in range(_AHEAD))
            while (following := made.popleft().result()) is not _END:
                made.append(pool.submit(next, iterator, _END))
                yield cast(T, following)
        finally:
            pool.shutdown(cancel_futures=True)
