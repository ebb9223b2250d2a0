"""Turns of the verifications of secrets, each of which takes a tenth of a second and 64 MiB on purpose.

A few run at once, and a few more wait for a short time. Others are refused, so that attempts with ever new access keys
take neither the memory nor the threads of the process. Requests with the same credentials share one verification: the
others wait for its result. This happens each time that remembered credentials expire while many requests arrive. All
of these requests may wait. Requests with unknown credentials may wait only up to a total number, because each of them
holds a thread. Requests of the API share a thread before they come here: see `ServerUsers.looked_up`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition
from typing import Final

from graveler_core.errors import Kind, SlowDown

MAX_VERIFICATIONS: Final = 4
"""Number of verifications that run at once."""
MAX_WAITING: Final = 12
"""Number of different credentials that wait for a verification."""
MAX_WAITING_REQUESTS: Final = 24
"""Number of requests with unknown credentials that wait for a verification."""
WAIT_SECONDS: Final = 2.0
"""Seconds after which a request that waits for a verification is refused."""


class VerificationTurns:
    """Turns of the verifications of one process. Thread-safe."""

    def __init__(self) -> None:
        self._changed = Condition()
        self._running: set[bytes] = set()
        self._waiting: Counter[bytes] = Counter()
        self._unknown = 0
        """Number of waiting requests with unknown credentials."""

    @contextmanager
    def turn(self, name: bytes, settled: Callable[[], bool], *, known: bool = False) -> Iterator[None]:
        """Wait for the turn of some credentials, and keep it inside the `with` statement.

        Args:
            name: Name of the credentials. Only one of the same name has a turn.
            settled: Returns true if no verification is needed any more, because another request has made it.
            known: The credentials were right before. Any number of requests with them may wait.

        Raises:
            SlowDown: Too many verifications run and wait, or the wait took too long.
        """
        with self._changed:
            has_turn = self._is_free(name) or self._wait(name, settled, known=known)
            if has_turn:
                self._running.add(name)
        try:
            yield
        finally:
            if has_turn:
                with self._changed:
                    self._running.discard(name)
                    self._changed.notify_all()

    def _is_free(self, name: bytes) -> bool:
        return name not in self._running and len(self._running) < MAX_VERIFICATIONS

    def _wait(self, name: bytes, settled: Callable[[], bool], *, known: bool) -> bool:
        """Wait until there is a free turn, or none is needed. Return true if there is one."""
        is_new = name not in self._running and name not in self._waiting
        is_one_too_many = not known and self._unknown >= MAX_WAITING_REQUESTS
        if is_one_too_many or (is_new and len(self._waiting) >= MAX_WAITING):
            raise _too_many()
        self._waiting[name] += 1
        self._unknown += not known
        try:
            if not self._changed.wait_for(lambda: self._is_free(name) or settled(), WAIT_SECONDS):
                raise _too_many()
        finally:
            self._unknown -= not known
            self._waiting[name] -= 1
            if not self._waiting[name]:
                del self._waiting[name]
        return self._is_free(name)


def _too_many() -> SlowDown:
    return SlowDown("too many credentials are being verified; try again", kind=Kind.RetriesExhausted)
