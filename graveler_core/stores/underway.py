"""What threads of this process are at work on, so that no two do the same."""

from __future__ import annotations

import threading


class Underway:
    """A set of names of work. Only for speed: processes do not know of each other."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._lock = threading.Lock()

    def begin(self, name: str) -> bool:
        """Whether nobody is at it: then the caller is, until it calls `end`."""
        with self._lock:
            begun = name not in self._names
            self._names.add(name)
            return begun

    def end(self, name: str) -> None:
        """It is done, or given up."""
        with self._lock:
            self._names.discard(name)
