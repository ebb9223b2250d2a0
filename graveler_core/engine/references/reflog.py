"""Reflog: events of references, newest first, from the log, from pending events, and from the past in records.

Reading has no visible effect. If there are many pending events, they are folded first, so that they need not be held
in memory. An event moves from the memory of its process to the pending events, and from there to the log. The
sources are read in this order, so an event that moves in the meantime is found at least once, and duplicates have
the same id. A reflog shows the state of its first read. The current state of references is shown by a listing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice, takewhile

from graveler_core.codec.entry import entries
from graveler_core.codec.records import decode
from graveler_core.committed.index.scan import scan
from graveler_core.engine.references.events import FoldDecision, decide, fold_quietly
from graveler_core.engine.references.log import EVENTS, ReferenceLog, name_key
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.entry import Entry
from graveler_core.model.key_intervals import key_interval
from graveler_core.model.names import is_ref_name
from graveler_core.model.references import (
    ReferenceEvent,
    ReferenceType,
    is_event_id,
    steps_of,
)
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Damaged
from graveler_core.refs.branches import reference
from graveler_core.stores import Stores
from graveler_core.telemetry.events import tell_damaged

MANY = 256
"""Number of pending events above which they are folded before they are read."""
_PAGE = 64
_BOTH = (ReferenceType.BRANCH, ReferenceType.TAG)


@dataclass(frozen=True, slots=True)
class EventBounds:
    """Events of a reflog from the event `start`, inclusive, to the older event `end`, exclusive, and after the event
    `after`. An event is given by its id.
    """

    after: str = ""
    start: str = ""
    end: str = ""
    """"" for no end."""

    def __post_init__(self) -> None:
        for name in ("after", "start", "end"):
            place = getattr(self, name)
            if place != "" and not is_event_id(place):
                raise InvalidInput(f"{name} {place!r}: must be the token of an event of a reflog")

    def of(self, found: Iterable[ReferenceEvent]) -> Iterator[ReferenceEvent]:
        """Yield those of some sorted events that are within the bounds."""
        ahead = (event for event in found if event.id > self.after and event.id >= self.start)
        return takewhile(lambda event: not self.end or event.id < self.end, ahead)


EVERY_EVENT = EventBounds()
"""Bounds of a whole reflog."""


def events(stores: Stores, repo: RepositoryRecord, within: EventBounds = EVERY_EVENT) -> Iterator[ReferenceEvent]:
    """Yield all known creations, deletions and assignments, lazily and newest first.

    Creations and assignments that were made through these stores are never missing. Those of another process may be
    missing until its background has written them. If the process died before that, they are missing until the next
    event of the reference.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        within: Only events within these bounds are yielded.

    Raises:
        CorruptData: The log is damaged. `details["commit"]` names its commit.
    """
    decision = _decided(stores, repo)
    logged = map(_event, _scanned(decision.log, EVENTS, max(within.after, within.start), within.end))
    return within.of(_once(heapq.merge(decision.happened, logged, key=_id)))


def of_name(
    stores: Stores,
    repo: RepositoryRecord,
    name: str,
    within: EventBounds = EVERY_EVENT,
    damaged: Damaged = tell_damaged,
) -> Iterator[ReferenceEvent]:
    """Yield all known events of the references that have or had a name, including their newest moves. Otherwise as
    `events`.

    `damaged` is called for each pending event that cannot be read.
    """
    stands = access.read_many(stores.kv, [reference(repo, type, name) for type in _BOTH])
    decision = _decided(stores, repo, damaged)
    fresh = (event for event in decision.happened if event.name == name and event.type in _BOTH)
    logged = (_named(decision.log, type, name, within.end) for type in _BOTH)
    known = _once(heapq.merge(fresh, *logged, key=_id))
    steps = [step for held in stands if held is not None for step in steps_of(held.value)]
    return within.of(_once(_with_steps(known, steps)))


def require_name(name: str) -> str:
    """Check the name of a branch or tag."""
    if not isinstance(name, str) or not is_ref_name(name):
        raise InvalidInput(f"reference {name!r}: must be a valid name of a branch or tag", name=name)
    return name


def _decided(stores: Stores, repo: RepositoryRecord, damaged: Damaged = tell_damaged) -> FoldDecision:
    folder = keys.pending_events(repo)
    noted = stores.noted.of(repo)
    waiting = list(islice(access.scan(stores.kv, folder, damaged=damaged), MANY + 1))
    if len(waiting) > MANY:
        fold_quietly(stores, repo)
        waiting = list(access.scan(stores.kv, folder, damaged=damaged))
    return decide(stores, repo, waiting, noted)


def _named(log: ReferenceLog, type: ReferenceType, name: str, end: str) -> Iterator[ReferenceEvent]:
    """Yield the logged events of a name, up to an end. The log stores only ids under a name, and the events are looked
    up page by page. Newer events are read, too, because they contain earlier moves.
    """
    prefix = name_key(type, name)
    ids = (entry.path.removeprefix(prefix) for entry in _scanned(log, prefix, end=end))
    while page := list(islice(ids, _PAGE)):
        found = log.entries([EVENTS + id for id in page])
        yield from (_event(found[EVENTS + id]) for id in page if EVENTS + id in found)


def _scanned(log: ReferenceLog, prefix: str, start: str = "", end: str = "") -> Iterator[Entry]:
    if log.head is None:
        return
    first, last = key_interval(prefix.encode(), (prefix + start).encode(), (prefix + end).encode() if end else None)
    for table in scan(log.stores.indexes(log.repository), log.head.layout.index, start=first, end=last):
        yield from entries(table)


def _event(entry: Entry) -> ReferenceEvent:
    return decode(ReferenceEvent, entry.data or b"", f"event {entry.path} of the log of references")


def _with_steps(found: Iterable[ReferenceEvent], steps: list[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """Merge events in order with the earlier moves that they contain and with further moves."""
    ahead = [(step.id, step) for step in steps]
    heapq.heapify(ahead)
    for event in found:
        while ahead and ahead[0][0] < event.id:
            yield heapq.heappop(ahead)[1]
        yield event
        for step in event.earlier():
            if step.id > event.id:
                heapq.heappush(ahead, (step.id, step))
    while ahead:
        yield heapq.heappop(ahead)[1]


def _once(found: Iterable[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    last = ""
    for event in found:
        if event.id != last:
            last = event.id
            yield event


def _id(event: ReferenceEvent) -> str:
    return event.id
