"""Amortised reads: requests for one record share a read that starts after them. Source: seed 003.

For each key there is at most one read in flight and one batch that waits for it to end. A lone request reads at once,
without delay. A request must not join the read in flight: that read may have read the record before the request's own
write. The closing re-read would then prove nothing, and the write could be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Generic, TypeVar

from graveler_core.model.forks import ForkSafe

T = TypeVar("T")


class _AbandonedError(Exception):
    """The thread that was about to read for other threads was interrupted."""


@dataclass(slots=True)
class _Line(Generic[T]):
    """Read in flight for a key, and the batch that starts when it ends."""

    flying: Future[T] | None = None
    """Result of the read in flight; `None` while no other thread waits for it."""
    waiting: Future[T] | None = None


class SharedReads(ForkSafe, Generic[T]):
    """Reads by key, shared between threads."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: dict[tuple[str, str], _Line[T]] = {}

    def after_fork(self) -> None:
        super().after_fork()
        self._lines = {}

    def read(self, repository: str, branch: str, fetch: Callable[[], T]) -> T:
        """Return the result of `fetch`, called by this or another thread after this call began. Errors are shared
        too.
        """
        key = (repository, branch)
        before: Future[T] | None = None
        mine: Future[T] | None = None
        with self._lock:
            line = self._lines.get(key)
            joined = None if line is None else line.waiting
            if line is None:
                self._lines[key] = _Line()
            elif joined is None:
                before = line.flying = line.flying or Future()
                mine = line.waiting = Future()
        if joined is not None:
            try:
                return joined.result()
            except _AbandonedError:
                return self.read(repository, branch, fetch)
        return self._lead(key, mine, before, fetch)

    def _lead(
        self, key: tuple[str, str], mine: Future[T] | None, before: Future[T] | None, fetch: Callable[[], T]
    ) -> T:
        """Read for all requests that wait for `mine`, after the previous read has ended. A lone request has neither."""
        try:
            if before is not None:
                before.exception()
            found = fetch()
        except BaseException as e:
            awaited = self._end(key, mine)
            if awaited is not None:
                awaited.set_exception(e if isinstance(e, Exception) else _AbandonedError())
            raise
        awaited = self._end(key, mine)
        if awaited is not None:
            awaited.set_result(found)
        return found

    def _end(self, key: tuple[str, str], mine: Future[T] | None) -> Future[T] | None:
        """Close this batch to new requests, and let the next one start. Return the future that others may wait for."""
        with self._lock:
            line = self._lines[key]
            if mine is not None and line.waiting is mine:  # interrupted before its turn to read
                line.waiting = None
                return mine
            ended = line.flying
            if line.waiting is None:
                del self._lines[key]
            else:
                line.flying, line.waiting = line.waiting, None
            return ended
