"""Turns between the processes of one host: who locks a branch's bytes of a file has the turn.

A branch has two bytes. Who comes takes the first, the door, then the second, the turn, and leaves the door to the next:
so who has just had a turn and comes again at once stays behind the one who was at the door. The system takes back the
locks of a process that ends; one that stands still is waited for no longer than patience lasts. For speed and fairness
alone: where the file cannot be made or locked, everybody goes on without.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from threading import Lock
from typing import IO, Final
from weakref import finalize

try:
    import fcntl
except ImportError:  # not every system locks bytes of files
    fcntl = None  # type: ignore[assignment]

_BEFORE_THE_DOOR: Final = 0.002
_AT_THE_DOOR: Final = 0.0005
"""Seconds between two looks. Only one at a time looks for the turn itself."""


class TurnFile:
    """The file of one store, made at the first turn. Its locks mean nothing to the threads of one process: they queue
    before they come here."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._closed = fcntl is None
        self._lock = Lock()

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Wait at most `patience` seconds for the turn under a name, and keep it inside the `with` statement."""
        door = 2 * (int.from_bytes(blake2b(name.encode(), digest_size=7).digest(), "big"))
        mine = self._enter(door, time.monotonic() + patience)
        try:
            yield
        finally:
            if mine:
                self._give(door + 1)

    def close(self) -> None:
        """Close the file; who comes later goes on without."""
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
        """Whether the turn was taken; False where patience ended, or the file cannot be locked."""
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
