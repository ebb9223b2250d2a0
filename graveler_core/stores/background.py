"""Background work that no caller waits for, such as dropping large layers that have left a branch record."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

from graveler_core.telemetry import FlowTarget, traced


class Background(Protocol):
    """Executes work later. Nothing may depend on the result: after a crash, the cleaner does the work."""

    def start(self, work: Callable[[], object]) -> None:
        """Schedule work. Its errors are only logged."""

    def close(self) -> None:
        """Wait until all scheduled work is done."""


class AtOnce:
    """Executes work before `start` returns, and raises its errors. Used by tests and the simulator."""

    def start(self, work: Callable[[], object]) -> None:
        work()

    def close(self) -> None:
        """Do nothing, because no work is pending."""


class Aside:
    """Executes work on one thread, in order. The thread starts with the first work."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        self._lock = threading.Lock()

    def start(self, work: Callable[[], object]) -> None:
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # a forked child has no threads
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="graveler-background")
                self._process = os.getpid()
            self._pool.submit(traced("background", _nowhere, changes=False)(work))

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown()


def _nowhere() -> FlowTarget:
    return ("", "")
