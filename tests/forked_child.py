"""A forked child that must go on, while a thread of the parent is in the middle of something."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Event
from typing import Any


def code_of_child(work: Callable[[], bool]) -> int:
    """Return the exit code of a forked child: 0 if the work is done and true, 1 if not, the signal if it hangs."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(10)
        code = 1
        try:
            code = 0 if work() else 1
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@contextmanager
def in_another_thread(work: Callable[[Event, Event], Any]) -> Iterator[None]:
    """Run work in a thread: it sets the first event when it has begun, and waits for the second one."""
    begun, let_go = Event(), Event()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(work, begun, let_go)
        try:
            assert begun.wait(10)
            yield
        finally:
            let_go.set()
        done.result()
