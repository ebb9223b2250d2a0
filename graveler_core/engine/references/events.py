"""Events of references, before they are in the log of references. Source: seed 002, named references.

The records under `branches/` and `tags/` are the truth. The log follows them and may lag. No flow waits for it, and
only reflogs and undeletions read it. Moves by commits, merges, transactions and replays are not logged, because that
would make all branches of a repository swap one record. Each record contains its newest moves (`model.past`).
Therefore only the history that would be lost with a record must be written before the record is deleted:

1. *Creation, assignment*: the swap ✓ itself stores them, in the record's past. Their event is written afterwards, in
   the background, as a hint: `refs/int/pending/`. A crash before that loses nothing: the next event of the reference
   contains the past, and events in it that the log does not know are logged with it. Until then, a reflog of the
   name reads them from the record. The background executes one job after another, so the hint may wait until a large
   layer is dropped. Until it is written, the event is also in the memory of its process (`stores.noted`), where a
   reflog of the same process finds it. After a creation has returned, a reflog of the same process therefore always
   contains it. A reader does not wait for the background, so a slow, failing or hanging job there neither delays nor
   fails a reflog.
2. *Deletion*: an intent is written with the cleanup records, in one round trip. Then the record is removed by a
   conditional delete ✓. The intent identifies the record (uid and nonce) and contains its whole history.
3. *Fold*, for a fraction of the events, or when a reader finds many: events that have happened become a commit of
   the log, `refs/int/refs` is swapped to it ✓, and then they are removed from `pending/`. A crash before the swap
   leaves a commit to which nothing refers. A crash after it leaves pending events that the next fold finds in the
   log and removes.

The next fold or read decides the outcome of an intent from the record that now has the name:

* the same record: the deletion has not happened, or is in progress. The intent stays, because the delete may still
  arrive.
* another record of the same reference: the branch moved on, and the delete can never succeed. The intent is removed.
  (If the call tries again, it writes another intent.)
* no record, or one of another reference: the reference is gone permanently, and was deleted once. If there are
  several intents (of concurrent calls, or of a call that tried again), the one that contains the latest move of the
  head is logged. Its head and past are those of the deleted record: all intents with the same move have the same
  head.

Ids identify events, so an event that is written twice or late changes nothing (`engine.references.log`). If two
folds run concurrently, one swap fails, and that fold checks again which events the log contains by then.

A pending event that cannot be read is logged for operators and left out, until `engine.references.mending` removes it.
The past in records has the same moves, except those that a damaged intent has kept of a deleted reference.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from graveler_core.codec.records import encode
from graveler_core.engine.protocol.retry import retry
from graveler_core.engine.references import log as reference_log
from graveler_core.engine.references.log import EVENTS, ReferenceLog, deletion_key, read_log
from graveler_core.errors import CorruptData, GravelerError
from graveler_core.model.entities import BranchRecord, RepositoryRecord, Tag
from graveler_core.model.past import moves
from graveler_core.model.references import (
    EventKind,
    ReferenceEvent,
    ReferenceType,
    refuse_damaged_event,
    step_of_deletion,
    uid_of,
)
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs import repositories
from graveler_core.refs.branches import reference
from graveler_core.stores import Stores
from graveler_core.stores.registers import KEPT
from graveler_core.telemetry.events import tell_damaged

AT_ONCE = 100
"""Number of pending events that are processed together."""
SHARE = 64
"""Average number of events between two folds. The writer of an event folds at random, so that no counter is needed."""
Waiting = Sequence[tuple[str, Held[ReferenceEvent]]]


@dataclass(frozen=True, slots=True)
class FoldDecision:
    """Decision of a fold about pending events."""

    log: ReferenceLog
    """Log on which the decision is based."""
    happened: list[ReferenceEvent]
    """Events that happened and that the log does not contain yet, in order of their ids."""
    spent: list[tuple[str, Held[ReferenceEvent]]]
    """Pending events to remove once the log contains the events that happened."""


def note(stores: Stores, repo: RepositoryRecord, event: ReferenceEvent) -> None:
    """Write an event that has happened in the background. Reflogs of this process contain it at once."""
    stores.noted.add(repo, event)
    stores.background.start(partial(take_note, stores, repo, event))


def take_note(stores: Stores, repo: RepositoryRecord, event: ReferenceEvent) -> None:
    """Write an event, and fold at random. If the write fails, or the repository was deleted in the meantime, the event
    stays in the memory of this process.
    """
    with suppress(GravelerError):
        if abs(stores.moment() - event.time) >= KEPT and not _exists(stores, repo):
            return
        access.write(stores.kv, keys.pending_events(repo).at(event.id), event)
        stores.noted.remove(repo, event)
        fold_by_chance(stores, repo)


def intent(repo: RepositoryRecord, event: ReferenceEvent) -> tuple[bytes, bytes, bytes]:
    """Return the write that is required before a deletion."""
    where = keys.pending_events(repo).at(event.id)
    return where.partition, where.key, encode(event)


def fold_sometimes(stores: Stores, repo: RepositoryRecord) -> None:
    """Fold the pending events in the background, after a fraction of the events."""
    stores.background.start(partial(fold_by_chance, stores, repo))


def fold_by_chance(stores: Stores, repo: RepositoryRecord) -> None:
    """Fold at random, after a fraction of the events."""
    if stores.ids.uniform() * SHARE < 1:
        fold_quietly(stores, repo)


def _exists(stores: Stores, repo: RepositoryRecord) -> bool:
    """Return true if users may see the repository.

    The background may come to an event long after the change, and nothing removes what is written after a cleaner has
    emptied the repository. A cleaner waits for `stores.registers.LATE` after the deletion, so an event that is younger
    than `stores.registers.KEPT` is written without this check.
    """
    held = repositories.find(stores.kv, repo.id)
    return held is not None and held.value.uid == repo.uid and not held.value.state.passes


def fold_quietly(stores: Stores, repo: RepositoryRecord) -> None:
    """Fold, and ignore errors: nothing depends on the fold, and the next one starts again."""
    with suppress(GravelerError):
        fold(stores, repo)


def fold(stores: Stores, repo: RepositoryRecord) -> int:
    """Add the pending events that have happened to the log.

    Returns:
        Number of events that were new to the log.

    Raises:
        CorruptData: The log is damaged; `details["commit"]` names its commit. No pending event was removed.
    """
    waiting = access.scan(stores.kv, keys.pending_events(repo), damaged=tell_damaged)
    taken = 0
    while page := list(islice(waiting, AT_ONCE)):
        taken += _fold(stores, repo, page)
    return taken


def decide(
    stores: Stores, repo: RepositoryRecord, waiting: Waiting, noted: Sequence[ReferenceEvent] = ()
) -> FoldDecision:
    """Decide which pending events have happened, and which of them the log does not contain yet.

    Args:
        stores: Stores of the flow.
        repo: The repository.
        waiting: Pending events, as they were scanned.
        noted: Events that have happened and may be missing from the pending ones.

    Raises:
        CorruptData: The log, or the past in an event, is damaged.
    """
    gone, spent = _intents(stores, repo, waiting)
    log = read_log(stores, repo)
    found: dict[str, ReferenceEvent] = {}
    happened = [held.value for _, held in waiting if held.value.kind is not EventKind.DELETED]
    for event in [*noted, *happened, *gone]:
        found |= {step.id: step for step in _logged(event) if step.id not in found}
        found[event.id] = event
    known = log.entries([EVENTS + id for id in found] + [deletion_key(event) for event in gone])
    new = [id for id, event in found.items() if EVENTS + id not in known and deletion_key(event) not in known]
    return FoldDecision(log, [found[id] for id in sorted(new)], spent)


def _logged(event: ReferenceEvent) -> list[ReferenceEvent]:
    """Return the events in the history of an event that the log contains."""
    try:
        return [step for step in event.earlier() if step.kind is not EventKind.MOVED]
    except CorruptData as damage:
        refuse_damaged_event(damage)


def _intents(
    stores: Stores, repo: RepositoryRecord, waiting: Waiting
) -> tuple[list[ReferenceEvent], list[tuple[str, Held[ReferenceEvent]]]]:
    """Return the deletions that happened, one for each reference, and the pending events that are decided.

    The intent of a successful deletion was written before the reference was gone, but possibly after `waiting` was
    read. Therefore the intents of references that are gone are read again.
    """
    asked = sorted({_named(held.value) for _, held in waiting if held.value.kind is EventKind.DELETED})
    found = access.read_many(stores.kv, [reference(repo, type, name) for type, name in asked])
    stands = {named: held.value for named, held in zip(asked, found, strict=True) if held is not None}
    spent, gone = [], set[tuple[ReferenceType, str, str]]()
    for key, held in waiting:
        event, record = held.value, stands.get(_named(held.value))
        here = record is not None and uid_of(record) == event.uid
        if event.kind is not EventKind.DELETED or not here or _outlived(event, record):
            spent.append((key, held))
        if event.kind is EventKind.DELETED and not here:
            gone.add(event.reference)
    return list(_best(stores, repo, gone).values()), spent


def _outlived(event: ReferenceEvent, record: BranchRecord | Tag | None) -> bool:
    """Return `True` if the record has changed since an intent to delete it."""
    return record is not None and event.step != step_of_deletion(record)


def _best(
    stores: Stores, repo: RepositoryRecord, gone: set[tuple[ReferenceType, str, str]]
) -> dict[tuple[ReferenceType, str, str], ReferenceEvent]:
    """Return, for each reference that is gone, the intent that contains its latest move."""
    best: dict[tuple[ReferenceType, str, str], ReferenceEvent] = {}
    intents = access.scan(stores.kv, keys.pending_events(repo), damaged=tell_damaged)
    for _, held in intents if gone else ():
        event = held.value
        if event.kind is EventKind.DELETED and event.reference in gone:
            best[event.reference] = max(best.get(event.reference, event), event, key=_knows)
    return best


def _named(event: ReferenceEvent) -> tuple[ReferenceType, str]:
    return event.type, event.name


def _knows(event: ReferenceEvent) -> tuple[int, object, str]:
    return moves(event.past), event.time, event.id


def _fold(stores: Stores, repo: RepositoryRecord, waiting: Waiting) -> int:
    folder = keys.pending_events(repo)

    def attempt() -> int | None:
        decision = decide(stores, repo, waiting)
        if decision.happened and not reference_log.put(decision.log, decision.happened):
            return None
        for key, held in decision.spent:
            access.remove(stores.kv, folder.at(key), held)
        return len(decision.happened)

    return retry(stores, f"log of references of {repo.id}", attempt)
