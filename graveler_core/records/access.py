"""Typed reads, writes and scans of records, and the one compare-and-swap that knows what a lost answer means.

A predicate travels with every value that may be swapped (`Held`); nothing that can be created anew is ever deleted
without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv.bulk import delete_together, deletes_together, get_many
from graveler_core.kv.store import Predicate, Store
from graveler_core.model.entities import Record
from graveler_core.records.location import Folder, Location

R = TypeVar("R", bound=Record)
LOST_ANSWERS = 3
"""How often a swap is sent whose answers are lost in a row."""


@dataclass(frozen=True, slots=True)
class Held(Generic[R]):
    """A record as it was read, with the predicate that proves it unchanged."""

    value: R
    predicate: Predicate


def read(kv: Store, location: Location[R]) -> Held[R] | None:
    """The record, or None where there is none."""
    stored = kv.get(location.partition, location.key)
    return None if stored is None else Held(decode(location.model, stored.value, location.name), stored.predicate)


def read_many(kv: Store, locations: Sequence[Location[Any]]) -> list[Held[Any] | None]:
    """Several records of any kinds and partitions, in the order asked for; one round trip where the store can."""
    found = get_many(kv, [(location.partition, location.key) for location in locations])
    return [
        None if stored is None else Held(decode(location.model, stored.value, location.name), stored.predicate)
        for location, stored in zip(locations, found, strict=True)
    ]


def write(kv: Store, location: Location[R], record: R) -> None:
    """Set a record that is immutable, or that only one owner writes."""
    kv.set(location.partition, location.key, encode(record))


def create(
    kv: Store, location: Location[R], record: R, *, mine: Callable[[R], bool] | None = None, once: bool = False
) -> Held[R]:
    """Create a record.

    Args:
        mine: Recognises this very record, perhaps changed since, after a lost answer; equality when not given.
        once: Send it once only. For what may be deleted: a second sending could come late and bring it back.

    Raises:
        PredicateFailed: one exists; nothing was written by this call.
        OutcomeUnknown: the answer was lost, and what stands there now proves neither.
    """
    sendings = 1 if once else LOST_ANSWERS
    return _swap(kv, location, record, None, mine=mine or (lambda current: current == record), sendings=sendings)


def write_if_absent(kv: Store, location: Location[R], record: R) -> bool:
    """Create a record where none stands; False where one does."""
    try:
        create(kv, location, record)
    except PredicateFailed:
        return False
    return True


def replace(
    kv: Store, location: Location[R], held: Held[R], record: R, *, mine: Callable[[R], bool] | None = None
) -> Held[R]:
    """Replace what was read by `record`: the step that others see.

    Args:
        held: The record as read; the swap succeeds only if it still stands.
        mine: Recognises this very swap in a later record after a lost answer: by the fresh id, token, nonce or
            metarange that it carries. Equality with `record` when not given.

    Raises:
        PredicateFailed: another record stands there, or none; nothing was written by this call.
        OutcomeUnknown: the answer was lost, and what stands there now proves neither.
    """
    return _swap(kv, location, record, held.predicate, mine=mine or (lambda current: current == record))


def remove(kv: Store, location: Location[R], held: Held[R], *, lives_on: Callable[[R], bool] | None = None) -> bool:
    """Delete exactly the record that was read; False where another one, or none, stood there.

    Sent again while its answers are lost and the record still stands: a request that was taken for lost may still
    arrive.

    Args:
        lives_on: Whether a record found after a lost answer is a later state of the one that was read (it bears its
            uid), so that nothing was deleted. To be given where such records are replaced: what hangs on a record must
            not be torn down while it stands.

    Raises:
        OutcomeUnknown: the answers were lost and the record still stands, or it could not be looked at.
    """
    lost: OutcomeUnknown | None = None
    for _ in range(LOST_ANSWERS):
        try:
            kv.delete_if(location.partition, location.key, held.predicate)
        except PredicateFailed:
            if lost is None:
                return False
        except (SlowDown, Unavailable) as unanswered:
            if lost is None:
                raise
            raise lost from unanswered
        except OutcomeUnknown as e:
            lost = e
        else:
            return True
        current = _look(kv, location, lost)
        if current != held:
            return not (current is not None and lives_on is not None and lives_on(current.value))
    assert lost is not None  # noqa: S101 - the loop ends here only by lost answers
    raise lost


def remove_many(kv: Store, found: Sequence[tuple[Location[Any], Held[Any]]]) -> int:
    """Delete exactly the records that were read, and leave those that have changed; gives how many are deleted.

    One step where the store can and all of them stand, else one each. An answer that was lost, of what must not stop
    the rest, is not asked for again: what is left is found anew.
    """
    rows = [(where.partition, where.key, held.predicate) for where, held in found]
    if len(rows) > 1 and deletes_together(kv):
        try:
            delete_together(kv, rows, [])
        except PredicateFailed:
            return sum(remove(kv, where, held) for where, held in found)
        return len(rows)
    return sum(remove(kv, where, held) for where, held in found)


def scan(
    kv: Store,
    folder: Folder[R],
    *,
    prefix: str = "",
    after: str = "",
    damaged: Callable[[CorruptData], object] | None = None,
) -> Iterator[tuple[str, Held[R]]]:
    """All records of a folder in byte order of their names, lazily: (name, record).

    Args:
        prefix: Only names that begin so.
        after: Only names greater than this one; "" for all.
        damaged: Told of a record that cannot be read, which is left out then; when not given, it ends the scan.
    """
    base = folder.prefix + prefix.encode()
    start = folder.prefix + after.encode() + b"\0" if after else b""
    for row in kv.scan(folder.partition, prefix=base, start=max(base, start)):
        name = row.key[len(folder.prefix) :].decode()
        try:
            record = decode(folder.model, row.value, folder.at(name).name)
        except CorruptData as e:
            if damaged is None:
                raise
            damaged(e)
        else:
            yield name, Held(record, row.predicate)


def _swap(  # noqa: PLR0913 - one call in two forms
    kv: Store,
    location: Location[R],
    record: R,
    predicate: Predicate | None,
    *,
    mine: Callable[[R], bool],
    sendings: int = LOST_ANSWERS,
) -> Held[R]:
    """The swap, sent again while its answers are lost and what it expects still stands."""
    lost: OutcomeUnknown | None = None
    for _ in range(sendings):
        try:
            return Held(record, kv.set_if(location.partition, location.key, encode(record), predicate))
        except PredicateFailed:
            if lost is None:
                raise
            # An earlier sending of it may have come through late.
            return _found(kv, location, mine, lost)
        except (SlowDown, Unavailable) as unanswered:
            if lost is None:
                raise
            # This sending was refused; an earlier one may still arrive.
            raise lost from unanswered
        except OutcomeUnknown as e:
            lost = e
            current = _look(kv, location, lost)
            stands = current is None if predicate is None else current is not None and current.predicate == predicate
            if not stands:
                return _found(kv, location, mine, lost)
    assert lost is not None  # noqa: S101 - the loop ends here only by lost answers
    raise lost


def _found(kv: Store, location: Location[R], mine: Callable[[R], bool], lost: OutcomeUnknown) -> Held[R]:
    """The record, if it proves that the swap of which the answer was lost has happened."""
    current = _look(kv, location, lost)
    if current is not None:
        try:
            if mine(current.value):
                return current
        except (SlowDown, Unavailable) as unanswered:
            raise lost from unanswered
    raise lost


def _look(kv: Store, location: Location[R], lost: OutcomeUnknown) -> Held[R] | None:
    try:
        return read(kv, location)
    except (SlowDown, Unavailable) as unanswered:
        raise lost from unanswered
