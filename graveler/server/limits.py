"""Limits of one process: the rate of requests by user, and the number of uploads at once.

A user who sends too many requests gets status 429, and an upload beyond the limit gets status 503. Both answers say
when to try again (`Retry-After`), and the refused request has changed nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from time import monotonic
from typing import Final

from graveler.server.change_threads import ChangeThreads
from graveler.server.copy_threads import CopyThreads
from graveler_core.errors import Kind, SlowDown, Unavailable
from graveler_core.model.counting import counted

MAX_USERS: Final = 10_000
"""Number of users whose requests are counted. The user whose last request is the oldest is forgotten first."""

SPARE_THREADS: Final = 8
"""Number of threads for uploads beyond the limit, which refuse them at once."""


@dataclass(slots=True)
class _Allowance:
    """Requests that a user may send now, and the time for which that was computed."""

    requests: float
    at: float


class RequestLimits:
    """Limits of one process. Thread-safe."""

    def __init__(self, rate: float, uploads: int, clock: Callable[[], float] = monotonic) -> None:
        """Create limits.

        Args:
            rate: Average number of requests per second that one user may send. The same number may come at once. 0
                means any number.
            uploads: Number of uploads that are received at once.
            clock: Returns a time in seconds that never goes back.
        """
        self._rate = rate
        self._uploads = uploads
        self._clock = clock
        self._lock = Lock()
        self._allowances: OrderedDict[str, _Allowance] = OrderedDict()
        self._uploading = 0
        self.upload_threads = ThreadPoolExecutor(uploads + SPARE_THREADS, thread_name_prefix="graveler-upload")
        """Threads for requests whose body the client still sends. They count as uploads: see `uploading`."""
        self.copy_threads = CopyThreads()
        """Threads for requests that copy content."""
        self.change_threads = ChangeThreads()
        """Threads for requests that change commits, branches and tags, and may wait for hooks."""

    def admit(self, user: str) -> None:
        """Count a request of a user.

        Raises:
            SlowDown: The user has sent too many.
        """
        if not self._rate:
            return
        most = max(1.0, self._rate)
        with self._lock:
            now = self._clock()
            known = self._allowances.pop(user, None) or _Allowance(most, now)
            left = min(most, known.requests + (now - known.at) * self._rate)
            allowed = left >= 1
            self._allowances[user] = _Allowance(left - 1 if allowed else left, now)
            if len(self._allowances) > MAX_USERS:
                self._allowances.popitem(last=False)
        if not allowed:
            raise SlowDown(f"too many requests: a user may send {self._rate:g} in a second", kind=Kind.RetriesExhausted)

    @contextmanager
    def uploading(self) -> Iterator[None]:
        """Count an upload inside the `with` statement.

        Raises:
            Unavailable: The server receives as many as it may.
        """
        with self._lock:
            if self._uploading >= self._uploads:
                raise Unavailable(
                    f"the server receives {counted(self._uploads, 'upload')} already; try again", kind=Kind.StoreBusy
                )
            self._uploading += 1
        try:
            yield
        finally:
            with self._lock:
                self._uploading -= 1
