"""Transfers of several files at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final, TypeVar

T = TypeVar("T")
U = TypeVar("U")

AT_ONCE: Final = 16
"""Number of files that are transferred at once."""


def concurrently(work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
    """Yield the results of a function for each item, in the order of the items.

    The first error is raised when its item is due. Items that have not begun by then are left out.
    """
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="graveler-transfer") as pool:
        waiting: deque[Future[U]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(work, item))
                if len(waiting) > 2 * AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
