"""Turns: the flows that move the head of a branch run one after the other within a process, first come, first served.

Turns exist only for speed and fairness. Flows that race for one register waste each other's work, and quick flows
starve slow ones, such as a commit of a thousand entries beside commits of one entry. If the store supports turns
(`Store.turn`), processes take turns too. If it does not, or if a flow has waited too long, the flow proceeds without
its turn, and the install rule keeps the result correct.

Source: seed 002, coordinated commit targets.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext

from graveler_core.kv.store import Store
from graveler_core.model.forks import ForkSafe


class Turns(ForkSafe):
    """Queues by key, created when needed and removed when empty. The first flow of each queue also queues at the
    store.
    """

    def __init__(self, kv: Store | None = None, patience: float = 60.0) -> None:
        super().__init__()
        self._kv = kv
        self._patience = patience
        self._queues: dict[tuple[str, str], deque[threading.Event]] = {}

    def after_fork(self) -> None:
        super().after_fork()
        self._queues = {}

    @contextmanager
    def turn(self, repository: str, branch: str) -> Iterator[None]:
        """Wait for the turn on a branch and keep it inside the `with` statement. Not re-entrant."""
        key = (repository, branch)
        mine = self._enter(key)
        try:
            with self._kv.turn("/".join(key), self._patience) if mine and self._kv else nullcontext():
                yield
        finally:
            if mine:
                self._pass_on(key)

    def _enter(self, key: tuple[str, str]) -> bool:
        """Wait for the turn. Return false if the wait took too long."""
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
        """Leave the queue. Return false if the turn has arrived in the meantime."""
        with self._lock:
            if called.is_set():
                return False
            self._queues[key].remove(called)
            return True

    def _pass_on(self, key: tuple[str, str]) -> None:
        with self._lock:
            queue = self._queues.get(key)
            if queue:
                queue.popleft().set()
            else:
                self._queues.pop(key, None)  # a child that was forked in its turn has no queue
