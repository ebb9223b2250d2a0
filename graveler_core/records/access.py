"""Typed reads, writes and scans of records, and the compare-and-swap that handles lost responses.

Every record that may be swapped is returned with its predicate (`Held`). A record that can be created again is never
deleted without a predicate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from graveler_core.codec.records import decode, encode
from graveler_core.errors import CorruptData, GravelerError, OutcomeUnknown, PredicateFailed
from graveler_core.kv.bulk import delete_together, get_many, write_and_swap
from graveler_core.kv.store import Item, KeyValue, Predicate, Store, Stored
from graveler_core.model.bounds import Bounds
from graveler_core.model.entities import Record
from graveler_core.records.location import Folder, Location, record_name

K = TypeVar("K")
R = TypeVar("R", bound=Record)
Damaged = Callable[[CorruptData], object]
"""Function that is called for each record that cannot be read."""
LOST_ANSWERS = 3
"""Number of times that a swap is sent if its responses are lost."""


@dataclass(frozen=True, slots=True)
class Held(Generic[R]):
    """Record as it was read, with the predicate that proves that it is unchanged."""

    value: R
    predicate: Predicate


def read(kv: Store, location: Location[R]) -> Held[R] | None:
    """Read a record. Return `None` if it does not exist."""
    return _held(location, kv.get(location.partition, location.key))


def read_many(kv: Store, locations: Sequence[Location[Any]]) -> list[Held[Any] | None]:
    """Read several records of any kinds and partitions, in one round trip if the store supports it.

    Returns:
        The records in the order of the locations, `None` for each one that does not exist.
    """
    found = get_many(kv, [(location.partition, location.key) for location in locations])
    return [_held(location, stored) for location, stored in zip(locations, found, strict=True)]


def read_undamaged(kv: Store, locations: Mapping[K, Location[R]], damaged: Damaged) -> dict[K, Held[R] | None]:
    """Read several records as `read_many` does, but call `damaged` for each one that cannot be read.

    Returns:
        The records, `None` for each one that does not exist. Records that cannot be read are left out.
    """
    found = get_many(kv, [(location.partition, location.key) for location in locations.values()])
    undamaged: dict[K, Held[R] | None] = {}
    for (key, location), stored in zip(locations.items(), found, strict=True):
        try:
            undamaged[key] = _held(location, stored)
        except CorruptData as e:
            damaged(e)
    return undamaged


def write(kv: Store, location: Location[R], record: R) -> None:
    """Write a record that never changes, or that only one owner writes."""
    kv.set(location.partition, location.key, encode(record))


def create(
    kv: Store, location: Location[R], record: R, *, mine: Callable[[R], bool] | None = None, once: bool = False
) -> Held[R]:
    """Create a record.

    Args:
        kv: Key-value store.
        location: Location of the record.
        record: The record.
        mine: Recognises this record after a lost response, even if it has changed since. Default: equality.
        once: Send the request only once. Use it for records that may be deleted: a delayed second request could create
            the record again.

    Returns:
        The record and its predicate.

    Raises:
        PredicateFailed: A record exists. This call has written nothing.
        OutcomeUnknown: The response was lost, and the current record does not show if the request succeeded.
    """
    sendings = 1 if once else LOST_ANSWERS
    return _swap(kv, location, record, None, mine=mine or (lambda current: current == record), sendings=sendings)


def write_if_absent(kv: Store, location: Location[R], record: R) -> bool:
    """Create a record unless one exists. Return false if one exists."""
    try:
        create(kv, location, record)
    except PredicateFailed:
        return False
    return True


def replace(  # noqa: PLR0913 - the parts of one swap
    kv: Store,
    location: Location[R],
    held: Held[R] | None,
    record: R,
    *,
    mine: Callable[[R], bool] | None = None,
    before: Sequence[Item] = (),
) -> Held[R]:
    """Replace a record by compare-and-swap.

    Args:
        kv: Key-value store.
        location: Location of the record.
        held: Record as it was read, or `None` if there was none. The swap succeeds only if it is unchanged.
        record: The new record.
        mine: Recognises this swap in a later record after a lost response, by the fresh id, token, nonce or metarange
            that the swap wrote. Default: equality with `record`.
        before: Rows that the new record makes visible. They are written before the swap or together with it. No other
            call writes them, and without the swap they have no effect.

    Returns:
        The new record and its predicate.

    Raises:
        PredicateFailed: The record has changed, was deleted or was created. This call has not written it.
        OutcomeUnknown: The response was lost, and the current record does not show if the request succeeded.
    """
    expected = None if held is None else held.predicate
    return _swap(kv, location, record, expected, mine=mine or (lambda current: current == record), before=before)


def remove(kv: Store, location: Location[R], held: Held[R], *, lives_on: Callable[[R], bool] | None = None) -> bool:
    """Delete exactly the record that was read.

    The request is repeated while its responses are lost and the record still exists, because an earlier request may
    arrive late.

    Args:
        kv: Key-value store.
        location: Location of the record.
        held: Record as it was read.
        lives_on: Returns true if a record found after a lost response is a later state of the one that was read (it has
            the same uid), so that nothing was deleted. Required for records that are replaced: what belongs to a record
            must not be removed while the record exists.

    Returns:
        True if the record was deleted, false if the record had changed or did not exist.

    Raises:
        OutcomeUnknown: The responses were lost and the record still exists, or it could not be read.
    """
    lost: OutcomeUnknown | None = None
    for _ in range(LOST_ANSWERS):
        try:
            kv.delete_if(location.partition, location.key, held.predicate)
        except PredicateFailed:
            if lost is None:
                return False
        except OutcomeUnknown as e:
            lost = e
        except GravelerError as refused:
            if lost is None:
                raise
            raise lost from refused
        else:
            return True
        current = _look(kv, location, lost)
        if current != held:
            return not (current is not None and lives_on is not None and lives_on(current.value))
    assert lost is not None  # noqa: S101 - the loop ends here only by lost answers
    raise lost


def remove_many(kv: Store, found: Sequence[tuple[Location[Any], Held[Any]]]) -> int:
    """Delete exactly the records that were read, except those that have changed.

    The deletion is one step if the store supports it and no record has changed. Otherwise each record is deleted on its
    own. Requests with lost responses are not repeated, because later runs find the remaining records again.

    Returns:
        The number of deleted records.
    """
    rows = [(where.partition, where.key, held.predicate) for where, held in found]
    if len(rows) > 1 and kv.deletes_together():
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
    damaged: Damaged | None = None,
) -> Iterator[tuple[str, Held[R]]]:
    """Yield the records of a folder with their names, in the byte order of the names.

    Args:
        kv: Key-value store.
        folder: The folder.
        prefix: Yield only names with this prefix.
        after: Yield only larger names; "" for all.
        damaged: Called for each record that cannot be read, which is then skipped. `details["record"]` of the error is
            the name of the record. Without `damaged`, such a record ends the scan.

    Raises:
        CorruptData: A record cannot be read, and `damaged` is not given.
    """
    base = folder.prefix + prefix.encode()
    start = folder.prefix + after.encode() + b"\0" if after else b""
    yield from _records(folder, kv.scan(folder.partition, prefix=base, start=max(base, start)), damaged)


def scan_within(
    kv: Store, folder: Folder[R], within: Bounds, damaged: Damaged | None = None
) -> Iterator[tuple[str, Held[R]]]:
    """Yield the records whose names are within bounds, with their names, in the byte order of the names.

    The store reads no row outside of the bounds. `damaged` is used as in `scan`.

    Raises:
        CorruptData: A record cannot be read, and `damaged` is not given.
    """
    first, last = within.interval()
    start, end = folder.prefix + first, None if last is None else folder.prefix + last
    yield from _records(folder, kv.scan(folder.partition, prefix=folder.prefix, start=start, end=end), damaged)


def _held(location: Location[R], stored: Stored | None) -> Held[R] | None:
    """Decode a record that was read."""
    return None if stored is None else Held(decode(location.model, stored.value, location.name), stored.predicate)


def _records(folder: Folder[R], rows: Iterable[KeyValue], damaged: Damaged | None) -> Iterator[tuple[str, Held[R]]]:
    for row in rows:
        name = row.key[len(folder.prefix) :].decode()
        try:
            record = decode(folder.model, row.value, record_name(folder.partition, row.key))
        except CorruptData as e:
            if damaged is None:
                raise
            e.details["record"] = name
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
    before: Sequence[Item] = (),
) -> Held[R]:
    """Swap a record. Repeat the request while its responses are lost and the expected record is still current."""
    row = (location.partition, location.key, encode(record))
    lost: OutcomeUnknown | None = None
    for _ in range(sendings):
        try:
            return Held(record, write_and_swap(kv, before, row, predicate))
        except PredicateFailed:
            if lost is None:
                raise
            # An earlier request of this call may have arrived late.
            return _found(kv, location, mine, lost)
        except OutcomeUnknown as e:
            lost = e
            current = _look(kv, location, lost)
            stands = current is None if predicate is None else current is not None and current.predicate == predicate
            if not stands:
                return _found(kv, location, mine, lost)
        except GravelerError as refused:
            if lost is None:
                raise
            # This request was refused, but an earlier one may still arrive.
            raise lost from refused
    assert lost is not None  # noqa: S101 - the loop ends here only by lost answers
    raise lost


def _found(kv: Store, location: Location[R], mine: Callable[[R], bool], lost: OutcomeUnknown) -> Held[R]:
    """Return the current record if it proves that the swap with the lost response has happened."""
    current = _look(kv, location, lost)
    if current is not None:
        try:
            if mine(current.value):
                return current
        except GravelerError as unknown:
            raise lost from unknown
    raise lost


def _look(kv: Store, location: Location[R], lost: OutcomeUnknown) -> Held[R] | None:
    """Read a record after a lost response. Any error means that the outcome is unknown."""
    try:
        return read(kv, location)
    except GravelerError as unknown:
        raise lost from unknown
