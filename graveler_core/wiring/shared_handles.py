"""Handles that all users in a process share, by their arguments."""

from __future__ import annotations

import atexit
import os
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import TYPE_CHECKING

from graveler_core.model.forks import ForkSafe

if TYPE_CHECKING:
    from graveler_core.facade.graveler import Graveler


class SharedHandles(ForkSafe):
    """One handle for each process and key. Handles are closed when their process ends. Thread-safe."""

    def __init__(self) -> None:
        super().__init__()
        self._opened: dict[tuple[int, Hashable], Graveler] = {}
        atexit.register(self.close)

    def get(self, key: Hashable, connect: Callable[[], Graveler]) -> Graveler:
        """Return the handle of this process, which the first call for a key opens with `connect`."""
        own = os.getpid(), key
        with self._lock:
            if own not in self._opened:
                self._opened[own] = connect()
            return self._opened[own]

    def close(self) -> None:
        """Close the handles of this process. A later `get` opens them again."""
        with self._lock:
            for own in [own for own in self._opened if own[0] == os.getpid()]:
                with suppress(Exception):
                    self._opened.pop(own).close()
