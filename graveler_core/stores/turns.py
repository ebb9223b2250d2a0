"""Turns: in one process, the flows that move a branch's head go one after the other, first come, first served.

Only for speed and fairness. Who races for one register wastes the others' work, and the quick ones starve the slow (a
commit of a thousand entries against commits of one). Where the store has turns (`kv.abilities`), processes take them
too. Elsewhere, and whenever one has waited too long and goes on without its turn, the install rule decides; it would
always.
Source: seed 002, coordinated commit targets.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from graveler_core.kv.bulk import turn
from graveler_core.kv.store import Store


class Turns:
    """A queue a key, made when it is needed and gone when it is empty; the first of each queues at the store."""

    def __init__(self, kv: Store | None = None, patience: float = 60.0) -> None:
        self._kv = kv
        self._patience = patience
        self._queues: dict[tuple[str, str], deque[threading.Event]] = {}
        self._lock = threading.Lock()

    @contextmanager
    def turn(self, repository: str, branch: str) -> Iterator[None]:
        """Wait for the turn on a branch, and keep it inside the `with` statement. Not re-entrant."""
        key = (repository, branch)
        mine = self._enter(key)
        try:
            with turn(self._kv, "/".join(key), self._patience) if mine and self._kv else nullcontext():
                yield
        finally:
            if mine:
                self._pass_on(key)

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
