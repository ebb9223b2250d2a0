"""Names of work in progress, so that two threads of a process do not do the same work."""

from __future__ import annotations

from graveler_core.model.forks import ForkSafe


class Underway(ForkSafe):
    """Set of names of work in progress. It exists only for speed; processes do not know each other's work."""

    def __init__(self) -> None:
        super().__init__()
        self._names: set[str] = set()

    def after_fork(self) -> None:
        super().after_fork()
        self._names = set()

    def begin(self, name: str) -> bool:
        """Mark work as in progress until `end` is called. Return false if another thread is doing it."""
        with self._lock:
            begun = name not in self._names
            self._names.add(name)
            return begun

    def end(self, name: str) -> None:
        """Mark work as ended."""
        with self._lock:
            self._names.discard(name)
