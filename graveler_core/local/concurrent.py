"""Transfers of several files at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from threading import Condition
from typing import Final, TypeVar

from graveler_core.blobs.port import UPLOADED_BYTES

T = TypeVar("T")
U = TypeVar("U")

AT_ONCE: Final = 16
"""Number of files that are transferred at once."""


class Line:
    """Limit of the bytes that several threads send at once.

    The time of each request is limited. Requests that share a slow line must not be so many that all of them are late.
    """

    def __init__(self) -> None:
        self._free = UPLOADED_BYTES
        self._changed = Condition()

    @contextmanager
    def sending(self, size: int) -> Iterator[None]:
        """Wait until there is room for a file of this size, and take the room inside the `with` statement."""
        taken = min(size, UPLOADED_BYTES)
        with self._changed:
            self._changed.wait_for(lambda: taken <= self._free)
            self._free -= taken
        try:
            yield
        finally:
            with self._changed:
                self._free += taken
                self._changed.notify_all()


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
