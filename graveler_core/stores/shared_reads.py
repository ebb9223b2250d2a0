"""Amortised reads: requests for one record share a read of it, if the read starts after them. Source: seed 003.

For each key there is at most one read in flight and one batch that waits for it to end. A lone request reads at once
and pays no delay. Joining the read in flight would be wrong: it may have read the record before the request's own
write, and then the closing re-read proves nothing, and a write is lost.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")


class _AbandonedError(Exception):
    """The thread that was to read for others was interrupted."""


@dataclass(slots=True)
class _Line(Generic[T]):
    """The read of a key that is in flight, and the one that begins when it ends."""

    flying: Future[T]
    waiting: Future[T] | None = None


class SharedReads(Generic[T]):
    """Reads by key, shared between threads."""

    def __init__(self) -> None:
        self._lines: dict[tuple[str, str], _Line[T]] = {}
        self._lock = threading.Lock()

    def read(self, repository: str, branch: str, fetch: Callable[[], T]) -> T:
        """What `fetch` gives, called by this thread or by another one after this call began; errors are shared too."""
        key = (repository, branch)
        before: Future[T] | None = None
        with self._lock:
            line = self._lines.get(key)
            joined = None if line is None else line.waiting
            mine: Future[T] = Future()
            if line is None:
                self._lines[key] = _Line(mine)
            elif joined is None:
                line.waiting, before = mine, line.flying
        if joined is not None:
            try:
                return joined.result()
            except _AbandonedError:
                return self.read(repository, branch, fetch)
        return self._lead(key, mine, before, fetch)

    def _lead(self, key: tuple[str, str], mine: Future[T], before: Future[T] | None, fetch: Callable[[], T]) -> T:
        """Read for all who wait for `mine`, once the read before it has ended."""
        try:
            if before is not None:
                before.exception()
            found = fetch()
        except BaseException as e:
            self._end(key, mine)
            mine.set_exception(e if isinstance(e, Exception) else _AbandonedError())
            raise
        self._end(key, mine)
        mine.set_result(found)
        return found

    def _end(self, key: tuple[str, str], mine: Future[T]) -> None:
        """Let the next batch begin; nobody joins it any more."""
        with self._lock:
            line = self._lines[key]
            if line.waiting is mine:
                line.waiting = None
            elif line.waiting is None:
                del self._lines[key]
            else:
                line.flying, line.waiting = line.waiting, None
