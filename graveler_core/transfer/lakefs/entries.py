"""Conversion of the entries of lakeFS to staged records."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

import pyarrow as pa
from google.protobuf.message import DecodeError

from graveler_core.codec.entry import normalise
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import ENTRY_SCHEMA, REMOVED, AddressType
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.messages import EntryMessage

BY_PREFIX, RELATIVE, FULL = 0, 1, 2
"""Types of addresses. `BY_PREFIX` is that of old entries, whose addresses are full if they have a scheme."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_GIVEN: Final = ("key", "address", "address_type", "size", "checksum", "mtime", "content_type", "metadata")
_SCHEMA: Final = pa.schema(
    [*(pa.field(name, ENTRY_SCHEMA.field(name).type) for name in _GIVEN), pa.field(REMOVED, pa.bool_())]
)
EntryRow: TypeAlias = tuple[Any, ...]
"""Values of a record."""
Addressing: TypeAlias = Callable[[str, int], tuple[str, AddressType]]
"""Function that returns the address of an entry, given the address in lakeFS and its type."""
Broken = Callable[[object, str], object]
"""Called with the key of a broken row and the violated rule."""


def tombstone(key: bytes) -> EntryRow:
    """Return the record of a removal."""
    return (key, *[None] * (len(_GIVEN) - 1), True)


def entry_row(key: bytes, data: bytes, addressing: Addressing) -> EntryRow:
    """Return the record of an entry.

    Args:
        key: Path of the entry.
        data: Encoded message.
        addressing: Function that converts its address.

    Raises:
        BrokenValueError: The data are not an entry, or its address or time is invalid.
    """
    try:
        entry = EntryMessage.FromString(data)
    except DecodeError as e:
        raise BrokenValueError(f"data is not an entry ({e})") from e
    if not entry.address:
        raise BrokenValueError("its entry has no address")
    if entry.address_type not in (BY_PREFIX, RELATIVE, FULL):
        raise BrokenValueError(f"address type {entry.address_type} is unknown; only 0, 1 and 2 are allowed")
    address, kind = addressing(entry.address, entry.address_type)
    return (
        key,
        address,
        int(kind),
        entry.size,
        entry.e_tag or None,
        moment(entry.last_modified, "last_modified") if entry.HasField("last_modified") else None,
        entry.content_type or None,
        sorted(entry.metadata.items()) or None,
        False,
    )


def is_relative(address: str, kind: int) -> bool:
    """Return true if an address is relative to the storage namespace."""
    return kind == RELATIVE or (kind == BY_PREFIX and "://" not in address)


def moment(stamp: Any, what: str) -> datetime:
    """Return the time of a timestamp message.

    Raises:
        BrokenValueError: The time is outside the years 1 to 9999.
    """
    try:
        return _EPOCH + timedelta(seconds=stamp.seconds, microseconds=stamp.nanos // 1_000)
    except OverflowError as e:
        raise BrokenValueError(f"{what} {stamp.seconds} s is outside the years 1 to 9999") from e


def records(rows: Sequence[EntryRow], broken: Broken) -> pa.Table | None:
    """Return the valid records of some rows in `RECORD_SCHEMA`, or `None` if there are none.

    If one is broken, the rows are split in halves to find the broken ones.
    """
    if not rows:
        return None
    try:
        columns = zip(zip(*rows, strict=True), _SCHEMA, strict=True)
        return normalise(pa.Table.from_arrays([pa.array(cells, of.type) for cells, of in columns], schema=_SCHEMA))
    except InvalidInput as e:
        if len(rows) == 1:
            broken(rows[0][0], e.message)
            return None
    half = len(rows) // 2
    parts = [records(rows[:half], broken), records(rows[half:], broken)]
    whole = [part for part in parts if part is not None]
    return pa.concat_tables(whole) if whole else None
