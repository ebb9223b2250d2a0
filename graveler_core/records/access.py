"""Typed reads, writes and scans of records, and the one compare-and-swap that knows what a lost answer means.

A predicate travels with every value that may be swapped (`Held`); nothing that can be created anew is ever deleted
without one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graveler_core.codec.records import decode, encode
from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv.bulk import get_many
from graveler_core.kv.store import Predicate, Store
from graveler_core.model.entities import Record
from graveler_core.records.layout import Folder, Location

R = TypeVar("R", bound=Record)


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


def create(kv: Store, location: Location[R], record: R) -> Held[R]:
    """Create a record. Raises `PredicateFailed` where one exists, unless it is exactly this one after a lost answer."""
    return _swap(kv, location, record, None, lambda current: current == record)


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
    return _swap(kv, location, record, held.predicate, mine or (lambda current: current == record))


def remove(kv: Store, location: Location[R], held: Held[R]) -> bool:
    """Delete exactly the record that was read; False where something else, or nothing, stands there now."""
    try:
        kv.delete_if(location.partition, location.key, held.predicate)
    except PredicateFailed:
        return False
    except OutcomeUnknown:
        return read(kv, location) != held
    return True


def scan(kv: Store, folder: Folder[R], *, prefix: str = "", after: str = "") -> Iterator[tuple[str, Held[R]]]:
    """All records of a folder in byte order of their names, lazily: (name, record).

    Args:
        prefix: Only names that begin so.
        after: Only names greater than this one; "" for all.
    """
    base = folder.prefix + prefix.encode()
    start = folder.prefix + after.encode() + b"\0" if after else b""
    for row in kv.scan(folder.partition, prefix=base, start=max(base, start)):
        name = row.key[len(folder.prefix) :].decode()
        yield name, Held(decode(folder.model, row.value, folder.at(name).name), row.predicate)


def _swap(
    kv: Store, location: Location[R], record: R, predicate: Predicate | None, mine: Callable[[R], bool]
) -> Held[R]:
    try:
        return Held(record, kv.set_if(location.partition, location.key, encode(record), predicate))
    except OutcomeUnknown as lost:
        try:
            current = read(kv, location)
            if current is not None and mine(current.value):
                return current
        except (SlowDown, Unavailable) as unanswered:
            raise lost from unanswered
        unchanged = current is None if predicate is None else current is not None and current.predicate == predicate
        if unchanged:
            raise PredicateFailed(f"{location.name}: the swap was lost on the way") from lost
        raise
