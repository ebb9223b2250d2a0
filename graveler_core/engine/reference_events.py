"""What happens to references, on its way into their log. Source: seed 002, named references.

The records under `branches/` and `tags/` are the truth. The log follows them and may lag; no flow waits for it, and
nothing but a reflog and an undeletion reads it. Moves by commits, merges, transactions and replays are not logged: that
would put all branches of a repository on one register. Each record remembers its newest moves by itself (`model.past`).

So what a record would take with it is written before the record goes, and nothing else has to be:

1. *Creation, assignment*: the swap ✓ itself writes them down, in the record's past. Their event is written afterwards,
   beside everything, as a hint: `refs/int/pending/`. A crash before it loses nothing: whatever event of the reference
   comes next carries the past, and the events in it that the log does not know are logged with it. Until then a reflog
   of the name shows them from the record.
2. *Deletion*: an intent is written with the cleanup records, in one round trip; then the record goes, by a conditional
   delete ✓. The intent says which record (uid and nonce), and all that it held of history.
3. *Fold*, for one in so many events, or when there are many at a reading: events that have happened become a commit of
   the log, `refs/int/refs` is swapped for it ✓, then they leave `pending/`. A crash before the swap leaves a commit
   that nothing names; after it, pending events that the next fold finds in the log, and takes away.

What became of an intent is asked of the record that stands under its name, at the next fold or reading:

* the very record: not happened, or under way. It stays; the delete may still come.
* another record of the reference: the branch moved on, and the delete can never succeed. Taken away. (If the call tries
  again, it writes another intent.)
* none, or one of another reference: the reference is gone for ever, and was deleted once. Of several intents (two calls
  at once, or a call that tried again) the one that knows the latest move of the head is logged. Head and past are
  those of the record that was deleted: an intent that knows the same move knows the same head.

Ids say what an event is, so one that comes twice, or late, changes nothing (`engine.reference_log`).

Two folds at once: one swap fails, and that fold looks again at what the log has got meanwhile.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice

from graveler_core.codec.records import encode
from graveler_core.engine import reference_log
from graveler_core.engine.reference_log import EVENTS, Log, deletion_key, read_log
from graveler_core.engine.retry import attempts
from graveler_core.errors import GravelerError
from graveler_core.model.entities import Branch, Repository, Tag
from graveler_core.model.past import moves
from graveler_core.model.references import EventKind, ReferenceEvent, ReferenceType, step_of_deletion, uid_of
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import Held
from graveler_core.refs.branches import reference
from graveler_core.stores import Stores

AT_ONCE = 100
"""Pending events that are looked at together."""
SHARE = 64
"""One of so many events has whoever writes it fold, so that nobody counts them."""
Waiting = Sequence[tuple[str, Held[ReferenceEvent]]]


@dataclass(frozen=True, slots=True)
class Decision:
    """What pending events came to."""

    log: Log
    """As it stood when that was decided."""
    happened: list[ReferenceEvent]
    """What the log does not know yet, in order of the ids."""
    spent: list[tuple[str, Held[ReferenceEvent]]]
    """What need not be pending once the log knows what happened."""


def note(stores: Stores, repo: Repository, event: ReferenceEvent) -> None:
    """Have an event that has happened logged some time. Nobody waits for it."""
    stores.background.start(partial(take_note, stores, repo, event))


def take_note(stores: Stores, repo: Repository, event: ReferenceEvent) -> None:
    """Write an event down, and fold by chance."""
    with suppress(GravelerError):
        access.write(stores.kv, keys.pending_events(repo).at(event.id), event)
        fold_by_chance(stores, repo)


def intent(repo: Repository, event: ReferenceEvent) -> tuple[bytes, bytes, bytes]:
    """The write that must stand before a deletion."""
    where = keys.pending_events(repo).at(event.id)
    return where.partition, where.key, encode(event)


def fold_sometimes(stores: Stores, repo: Repository) -> None:
    """Have what is pending folded, after one in so many events."""
    stores.background.start(partial(fold_by_chance, stores, repo))


def fold_by_chance(stores: Stores, repo: Repository) -> None:
    """Fold once in so many times."""
    if stores.ids.uniform() * SHARE < 1:
        fold_quietly(stores, repo)


def fold_quietly(stores: Stores, repo: Repository) -> None:
    """Fold, if nothing is in the way: nothing depends on it, and the next one begins again."""
    with suppress(GravelerError):
        fold(stores, repo)


def fold(stores: Stores, repo: Repository) -> int:
    """Take what has happened of the pending events into the log; gives how many events were new to it.

    Raises:
        CorruptData: the log is damaged; `details["commit"]` names its commit. Nothing was taken away.
    """
    waiting = access.scan(stores.kv, keys.pending_events(repo))
    taken = 0
    while page := list(islice(waiting, AT_ONCE)):
        taken += _fold(stores, repo, page)
    return taken


def decide(stores: Stores, repo: Repository, waiting: Waiting) -> Decision:
    """What became of pending events.

    Raises:
        CorruptData: the log, or what an event says of its past, is damaged.
    """
    gone, spent = _intents(stores, repo, waiting)
    log = read_log(stores, repo)
    found: dict[str, ReferenceEvent] = {}
    for event in [*(held.value for _, held in waiting if held.value.kind is not EventKind.DELETED), *gone]:
        logged = (step for step in event.earlier() if step.kind is not EventKind.MOVED)
        found |= {step.id: step for step in logged if step.id not in found}
        found[event.id] = event
    known = log.entries([EVENTS + id for id in found] + [deletion_key(event) for event in gone])
    new = [id for id, event in found.items() if EVENTS + id not in known and deletion_key(event) not in known]
    return Decision(log, [found[id] for id in sorted(new)], spent)


def _intents(
    stores: Stores, repo: Repository, waiting: Waiting
) -> tuple[list[ReferenceEvent], list[tuple[str, Held[ReferenceEvent]]]]:
    """The deletions that happened, one of each reference, and the pending events that are decided.

    The intent of whoever deleted a reference stood before it was gone, but may have been written after `waiting` was
    read: so the intents of references that are gone are read again.
    """
    asked = sorted({_named(held.value) for _, held in waiting if held.value.kind is EventKind.DELETED})
    found = access.read_many(stores.kv, [reference(repo, type, name) for type, name in asked])
    stands = {named: held.value for named, held in zip(asked, found, strict=True) if held is not None}
    spent, gone = [], set[str]()
    for key, held in waiting:
        event, record = held.value, stands.get(_named(held.value))
        here = record is not None and uid_of(record) == event.uid
        if event.kind is not EventKind.DELETED or not here or _outlived(event, record):
            spent.append((key, held))
        if event.kind is EventKind.DELETED and not here:
            gone.add(event.uid)
    return list(_best(stores, repo, gone).values()), spent


def _outlived(event: ReferenceEvent, record: Branch | Tag | None) -> bool:
    """Whether the record has moved on since an intent to delete it."""
    return isinstance(record, Branch) and event.step != step_of_deletion(record)


def _best(stores: Stores, repo: Repository, gone: set[str]) -> dict[str, ReferenceEvent]:
    """Of each reference that is gone, the intent that knows its latest move."""
    best: dict[str, ReferenceEvent] = {}
    for _, held in access.scan(stores.kv, keys.pending_events(repo)) if gone else ():
        event = held.value
        if event.kind is EventKind.DELETED and event.uid in gone:
            best[event.uid] = max(best.get(event.uid, event), event, key=_knows)
    return best


def _named(event: ReferenceEvent) -> tuple[ReferenceType, str]:
    return event.type, event.name


def _knows(event: ReferenceEvent) -> tuple[int, object, str]:
    return moves(event.past), event.time, event.id


def _fold(stores: Stores, repo: Repository, waiting: Waiting) -> int:
    folder = keys.pending_events(repo)
    for _ in attempts(stores, f"log of references of {repo.id}"):
        decision = decide(stores, repo, waiting)
        if decision.happened and not reference_log.put(decision.log, decision.happened):
            continue
        for key, held in decision.spent:
            access.remove(stores.kv, folder.at(key), held)
        return len(decision.happened)
    raise AssertionError("attempts() raises when it ends")
