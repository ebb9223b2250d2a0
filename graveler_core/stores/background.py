"""Work that nobody waits for: the dropping of large layers that have left their branch's record."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from graveler_core.telemetry import Said, traced


class Background(Protocol):
    """Does later what a flow leaves behind. Nothing may depend on it: a crash leaves it to the cleaner."""

    def start(self, work: Callable[[], object]) -> None:
        """Have this done at some time; its errors reach nobody but the log."""
        ...

    def close(self) -> None:
        """Wait until all of it is done."""
        ...


class AtOnce:
    """Does it before `start` returns, for tests and for the simulator; errors reach the caller."""

    def start(self, work: Callable[[], object]) -> None:
        work()

    def close(self) -> None:
        """Nothing is left to do."""


class Aside:
    """A thread, begun at the first use; one piece of work after another."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def start(self, work: Callable[[], object]) -> None:
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # no thread lives on in a forked child
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="graveler-background")
                self._process = os.getpid()
            self._pool.submit(traced("background", _nowhere, changes=False)(work))

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown()


def _nowhere() -> Said:
    return ("", "")
