"""Turns between the processes of one host: who locks a branch's bytes of a file has the turn.

A branch has two bytes. Who comes takes the first, the door, then the second, the turn, and leaves the door to the next:
so who has just had a turn and comes again at once stays behind the one who was at the door. The system takes back the
locks of a process that ends; one that stands still is waited for no longer than patience lasts. For speed and fairness
alone: where the file cannot be locked, everybody goes on without.
"""

from __future__ import annotations

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final
from weakref import finalize

_BEFORE_THE_DOOR: Final = 0.002
_AT_THE_DOOR: Final = 0.0005
"""Seconds between two looks. Only one at a time looks for the turn itself."""


class TurnFile:
    """The file of one store. To the threads of one process its locks mean nothing: they queue before they come here."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("ab", buffering=0)
        self._close = finalize(self, self._file.close)

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
        self._close()

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
                fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, byte)
                return True
            if time.monotonic() > deadline:
                return False
            time.sleep(pause)

    def _give(self, byte: int) -> None:
        with suppress(OSError, ValueError):
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, byte)
