"""Turns between the processes of one host, as locks on bytes of a file.

Each queue has two bytes. A process first locks the first byte (the *door*) and then the second byte (the *turn*), and
then unlocks the door. So a process that has just had a turn and wants another one must wait behind the process that
holds the door. The system releases the locks of a process that ends. Processes wait for a stopped process only until
their timeout. If the file cannot be created or locked, the caller goes on without a turn, because turns only improve
speed and fairness.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import IO, Final
from weakref import finalize

from graveler_core.model.forks import ForkSafe

try:
    import fcntl
except ImportError:  # the platform has no POSIX file locks
    fcntl = None  # type: ignore[assignment]

_BEFORE_THE_DOOR: Final = 0.002
_AT_THE_DOOR: Final = 0.0005
"""Seconds between two attempts to lock a byte. Only the process that holds the door tries to lock the turn."""


class TurnFile(ForkSafe):
    """Lock file of one store, which is created for the first turn.

    File locks do not exclude threads of the same process. Callers queue these threads before they call `turn`.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._file: IO[bytes] | None = None
        self._closed = fcntl is None

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Wait at most `patience` seconds for a turn in a named queue, and hold it inside the `with` statement."""
        door = 2 * (int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big"))
        mine = self._enter(door, time.monotonic() + patience)
        try:
            yield
        finally:
            if mine:
                self._give(door + 1)

    def close(self) -> None:
        """Close the file. Later callers go on without a turn."""
        with self._lock:
            self._closed = True
            if self._file is not None:
                self._file.close()

    def _opened(self) -> IO[bytes]:
        with self._lock:
            if self._closed:
                raise ValueError("the store was closed")
            if self._file is None:
                self._file = self._path.open("ab", buffering=0)
                finalize(self, self._file.close)
            return self._file

    def _enter(self, door: int, deadline: float) -> bool:
        """Return true if the turn was taken, false after a timeout or if the file cannot be locked."""
        with suppress(OSError, ValueError):
            if self._take(door, _BEFORE_THE_DOOR, deadline):
                try:
                    return self._take(door + 1, _AT_THE_DOOR, deadline)
                finally:
                    self._give(door)
        return False

    def _take(self, byte: int, pause: float, deadline: float) -> bool:
        while True:
            with suppress(BlockingIOError, PermissionError):
                fcntl.lockf(self._opened(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)

    def _give(self, byte: int) -> None:
        with suppress(OSError, ValueError):
            fcntl.lockf(self._opened(), fcntl.LOCK_UN, 1, byte)
