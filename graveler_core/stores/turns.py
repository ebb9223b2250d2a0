"""Turns: in one process, the flows that move a branch's head go one after the other, first come, first served.

Only for speed and fairness. Who races for one register wastes the others' work, and the quick ones starve the slow (a
commit of a thousand entries against commits of one). Where a store is a file of one host, its processes take turns too.
Elsewhere, and whenever one has waited too long and goes on without its turn, the install rule decides; it would always.
Source: seed 002, coordinated commit targets.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graveler_core.stores.turn_file import TurnFile


class Turns:
    """A queue a key, made when it is needed and gone when it is empty; the first of each queues at `file`, if any."""

    def __init__(self, patience: float = 60.0, file: TurnFile | None = None) -> None:
        self._patience = patience
        self._file = file
        self._queues: dict[tuple[str, str], deque[threading.Event]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, repository: str, branch: str) -> Iterator[None]:
        """Wait for the turn on a branch, and keep it inside the `with` statement. Not re-entrant."""
        key = (repository, branch)
        mine = self._enter(key)
        try:
            with self._file.turn("/".join(key), self._patience) if mine and self._file else nullcontext():
                yield
        finally:
            if mine:
                self._pass_on(key)

    def close(self) -> None:
        """Give back the file."""
        if self._file is not None:
            self._file.close()

    def _enter(self, key: tuple[str, str]) -> bool:
        """Whether the turn was taken: at once or after waiting; False where patience ended."""
        with self._lock:
            queue = self._queues.get(key)
            if queue is None:
                self._queues[key] = deque()
                return True
            called = threading.Event()
            queue.append(called)
        try:
            if called.wait(self._patience):
                return True
        except BaseException:
            if not self._leave(key, called):
                self._pass_on(key)
            raise
        return not self._leave(key, called)

    def _leave(self, key: tuple[str, str], called: threading.Event) -> bool:
        """Step out of the queue; False where the turn has come in the meantime."""
        with self._lock:
            if called.is_set():
                return False
            self._queues[key].remove(called)
            return True

    def _pass_on(self, key: tuple[str, str]) -> None:
        with self._lock:
            queue = self._queues[key]
            if queue:
                queue.popleft().set()
            else:
                del self._queues[key]
