"""What happened to references, newest first: read from the log, from what is pending, and from what records remember.

Reading changes nothing that anybody sees; where much is pending it is folded first, so that it never has to be held in
memory. Pending events are read before the log, so one that a fold moves meanwhile is met at least once; what is met
twice has one id. An answer is as old as its first look; the truth about what stands now is a listing.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator
from itertools import islice

from graveler_core.codec.entry import entries
from graveler_core.codec.records import decode
from graveler_core.committed.index.scan import scan
from graveler_core.engine.reference_events import Decision, decide, fold_quietly
from graveler_core.engine.reference_log import EVENTS, Log, name_key
from graveler_core.errors import InvalidInput
from graveler_core.model.entities import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.names import is_ref_name
from graveler_core.model.references import (
    ReferenceEvent,
    ReferenceType,
    is_event_id,
    steps_of,
)
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.refs.branches import reference
from graveler_core.stores import Stores

MANY = 256
"""So many pending events are folded before they are read."""
_PAGE = 64
_BOTH = (ReferenceType.BRANCH, ReferenceType.TAG)


def events(stores: Stores, repo: Repository, after: str = "") -> Iterator[ReferenceEvent]:
    """All creations, deletions and assignments that are known, newest first, lazily.

    The creation and the assignments of a reference may be missing as long as it stands, where whoever made them died.

    Args:
        after: The id of an event; only what comes behind it.

    Raises:
        CorruptData: the log is damaged; `details["commit"]` names its commit.
    """
    decision = _decided(stores, repo)
    logged = _logged(decision.log, EVENTS, after)
    return _behind(_once(heapq.merge(decision.happened, logged, key=_id)), after)


def of_name(stores: Stores, repo: Repository, name: str, after: str = "") -> Iterator[ReferenceEvent]:
    """All that is known of the references that bear or bore a name, their newest moves among it; as `events`."""
    stands = access.read_many(stores.kv, [reference(repo, type, name) for type in _BOTH])
    decision = _decided(stores, repo)
    fresh = (event for event in decision.happened if event.name == name)
    logged = (_named(decision.log, type, name) for type in _BOTH)
    known = _once(heapq.merge(fresh, *logged, key=_id))
    steps = [step for held in stands if held is not None for step in steps_of(held.value)]
    return _behind(_once(_with_steps(known, steps)), after)


def require_place(after: str) -> str:
    """Check what says where a listing goes on; "" is its beginning."""
    if after and not is_event_id(after):
        raise InvalidInput(f"after {after!r}: must be the token of an event of a reflog")
    return after


def require_name(name: str) -> str:
    """Check what a branch or tag may be called."""
    if not isinstance(name, str) or not is_ref_name(name):
        raise InvalidInput(f"reference {name!r}: no branch or tag can bear this name", name=name)
    return name


def _decided(stores: Stores, repo: Repository) -> Decision:
    folder = keys.pending_events(repo)
    waiting = list(islice(access.scan(stores.kv, folder), MANY + 1))
    if len(waiting) > MANY:
        fold_quietly(stores, repo)
        waiting = list(access.scan(stores.kv, folder))
    return decide(stores, repo, waiting)


def _logged(log: Log, prefix: str, after: str = "") -> Iterator[ReferenceEvent]:
    for entry in _scanned(log, prefix, after):
        yield _event(entry)


def _named(log: Log, type: ReferenceType, name: str) -> Iterator[ReferenceEvent]:
    """What the log has under a name. There it has ids alone: what they mean is looked up page by page."""
    prefix = name_key(type, name)
    ids = (entry.path.removeprefix(prefix) for entry in _scanned(log, prefix))
    while page := list(islice(ids, _PAGE)):
        found = log.entries([EVENTS + id for id in page])
        yield from (_event(found[EVENTS + id]) for id in page if EVENTS + id in found)


def _scanned(log: Log, prefix: str, after: str = "") -> Iterator[Entry]:
    if log.head is None:
        return
    start = (prefix + after).encode()
    for table in scan(log.stores.indexes(log.repository), log.head.layout.index, prefix=prefix.encode(), start=start):
        yield from entries(table)


def _event(entry: Entry) -> ReferenceEvent:
    return decode(ReferenceEvent, entry.data or b"", f"event {entry.path} of the log of references")


def _with_steps(found: Iterable[ReferenceEvent], steps: list[ReferenceEvent]) -> Iterator[ReferenceEvent]:
    """Events in order, and among them the steps that they remember, and some more."""
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


def _behind(found: Iterable[ReferenceEvent], after: str) -> Iterator[ReferenceEvent]:
    return (event for event in found if event.id > after)


def _id(event: ReferenceEvent) -> str:
    return event.id
