"""Background work that no caller waits for, such as dropping large layers that have left a branch record.

Hooks after a change have a thread of their own, because they may take long or never return. Other work does not wait
for them.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from logging import WARNING
from typing import Protocol

from graveler_core.model.forks import ForkSafe
from graveler_core.telemetry import FlowTarget, traced
from graveler_core.telemetry.events import tell

MAX_WAITING = 1_000
"""Maximum number of calls of hooks that wait for the thread."""
CLOSE_SECONDS = 60.0
"""Maximum time for which `close` waits for calls of hooks, in seconds."""


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


class Aside(ForkSafe):
    """Executes work on one thread, in order. The thread starts with the first work.

    Work is executed at once if no thread can be started, for example because the interpreter is about to end. The
    change that it follows has been made already, so its errors are only logged then, too.
    """

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._process = os.getpid()
        super().__init__()

    def start(self, work: Callable[[], object]) -> None:
        task = traced("background", _nowhere, changes=False)(work)
        if not self._is_submitted(task):
            with suppress(Exception):  # `traced` has logged it
                task()

    def _is_submitted(self, task: Callable[[], object]) -> bool:
        with self._lock:
            if self._pool is None or self._process != os.getpid():  # a forked child has no threads
                self._pool = ThreadPoolExecutor(1, thread_name_prefix="graveler-background")
                self._process = os.getpid()
            try:
                self._pool.submit(task)
            except RuntimeError:  # the pool may hold the task all the same
                self._pool = None
                return False
            return True

    def close(self) -> None:
        with self._lock:
            pool, self._pool = self._pool, None
        if pool is not None and self._process == os.getpid():
            pool.shutdown()


class HookCalls(ForkSafe):
    """Executes calls of hooks on one thread, in order. The thread ends when no call waits.

    A call is left out if too many calls wait, or if it still waits `CLOSE_SECONDS` after `close`. Its run stays
    pending, so that a delivery makes the call. A call that never returns keeps neither `close` nor the process waiting.
    A call that raises `SystemExit` ends neither the thread nor the process.
    """

    def __init__(self, most: int = MAX_WAITING, patience: float = CLOSE_SECONDS) -> None:
        self._most = most
        self._patience = patience
        self._waiting = deque[Callable[[], object]]()
        self._thread: threading.Thread | None = None
        self._registered = False
        self._process = os.getpid()
        super().__init__()

    def start(self, work: Callable[[], object]) -> None:
        with self._lock:
            if self._process != os.getpid():  # a forked child has no threads
                self._process, self._thread = os.getpid(), None
                self._waiting.clear()
            if len(self._waiting) >= self._most:
                tell("hooks", WARNING, f"a hook was not called because {self._most} calls wait; a delivery calls it")
                return
            self._waiting.append(traced("background", _nowhere, changes=False)(work))
            if self._thread is None and not self._is_started():
                self._waiting.pop()
                tell("hooks", WARNING, "a hook was not called because no thread can be started; a delivery calls it")

    def _is_started(self) -> bool:
        """Start the thread. Return false if that is not possible."""
        thread = threading.Thread(target=self._run, name="graveler-hooks", daemon=True)
        try:
            self._register()
            thread.start()
        except RuntimeError:
            return False
        self._thread = thread
        return True

    def close(self) -> None:
        """Wait until all calls are made, but not longer than `CLOSE_SECONDS`. A call that closes waits for none."""
        if threading.current_thread() is self._thread:
            return
        with self._lock:
            atexit.unregister(self.close)
            self._registered = False
        if self._process != os.getpid():
            return
        thread = self._thread
        if thread is not None:
            thread.join(self._patience)
            self._waiting.clear()

    def _register(self) -> None:
        """Let the exit of the process close this object. A registration takes memory, also after its end."""
        if not self._registered:
            atexit.register(self.close)
            self._registered = True

    def _run(self) -> None:
        while True:
            with self._lock:
                if not self._waiting:
                    self._thread = None
                    return
                work = self._waiting.popleft()
            with suppress(BaseException):  # `traced` has logged it
                work()


def _nowhere() -> FlowTarget:
    return ("", "")
