"""Events of references that this process has noted and has not yet written to the key-value store."""

from __future__ import annotations

from collections import OrderedDict

from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.forks import ForkSafe
from graveler_core.model.ids import RepositoryUid
from graveler_core.model.references import ReferenceEvent


class NotedEvents(ForkSafe):
    """Events by repository, in memory, shared by the threads of a process.

    An event is added before it is handed to the background, and removed after it was written. A reader that looks here
    first, then at the pending events, and last at the log, finds each event of its own process in one of the three.

    Args:
        capacity: Maximum number of events. If they cannot be written, the oldest ones are forgotten first.
    """

    def __init__(self, capacity: int = 10_000) -> None:
        self._capacity = capacity
        self._events: OrderedDict[tuple[RepositoryUid, str], ReferenceEvent] = OrderedDict()
        super().__init__()

    def add(self, repo: RepositoryRecord, event: ReferenceEvent) -> None:
        """Keep an event until it is written."""
        with self._lock:
            self._events[repo.uid, event.id] = event
            while len(self._events) > self._capacity:
                self._events.popitem(last=False)

    def remove(self, repo: RepositoryRecord, event: ReferenceEvent) -> None:
        """Forget an event that was written."""
        with self._lock:
            self._events.pop((repo.uid, event.id), None)

    def of(self, repo: RepositoryRecord) -> list[ReferenceEvent]:
        """Return the events of a repository that may not be written yet, oldest first."""
        with self._lock:
            return [event for (uid, _), event in self._events.items() if uid == repo.uid]
