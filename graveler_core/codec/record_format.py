"""Format of a staged record (version 1): header, flags and errors. `staged_record` contains the codec."""

from __future__ import annotations

import struct
from datetime import UTC, datetime, timedelta

import numpy as np

from graveler_core.codec.tail import MEASURED
from graveler_core.errors import CorruptData, InvalidInput, LimitExceeded
from graveler_core.model.entry import IDENTITY_BYTES, MAX_RECORD_BYTES, AddressType

VERSION = 1
IS_TOMBSTONE = 1
HAS_MTIME = 2
TOMBSTONE_VALUE = bytes([VERSION, IS_TOMBSTONE])
ADDRESS_TYPES = tuple(AddressType)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
MIN_MTIME = (datetime.min.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
MAX_MTIME = (datetime.max.replace(tzinfo=UTC) - EPOCH) // MICROSECOND
"""Range of Python's datetime: years 1 to 9999."""
HEADER = struct.Struct("<BBbhqq32s5I")
_IDENTITY = slice(struct.calcsize("<BBbhqq"), struct.calcsize("<BBbhqq32s"))
HEADER_DTYPE = np.dtype(
    [
        ("version", "u1"),
        ("flags", "u1"),
        ("address_type", "i1"),
        ("payload", "<i2"),
        ("size", "<i8"),
        ("mtime", "<i8"),
        ("identity", f"V{IDENTITY_BYTES}"),
        ("lengths", "<u4", (len(MEASURED),)),
    ]
)


def record_identity(record: bytes) -> bytes:
    """Return the identity in an entry's record, 32 bytes, or empty for a tombstone. The record is not checked."""
    return record[_IDENTITY]


def microseconds(mtime: datetime | None, name: str) -> int:
    """Return a time as microseconds since 1970, 0 for `None`.

    Raises:
        InvalidInput: The time has no time zone, or is outside the years 1 to 9999 in UTC.
    """
    if mtime is None:
        return 0
    if not isinstance(mtime, datetime) or mtime.tzinfo is None:
        raise InvalidInput(f"{name}: mtime {mtime} must be a time with a time zone")
    since = (mtime - EPOCH) // MICROSECOND
    if not MIN_MTIME <= since <= MAX_MTIME:
        raise InvalidInput(f"{name}: mtime {mtime} must lie in the years 1 to 9999 in UTC")
    return since


def malformed(path: str) -> CorruptData:
    """Return the error for a value that is not a staged record."""
    return CorruptData(f"staged record of {path!r}: is cut off or malformed", path=path)


def unknown_version(path: str, version: int) -> CorruptData:
    """Return the error for a record in a later format."""
    return CorruptData(f"staged record of {path!r}: format version {version} is unknown", path=path)


def too_large(name: str, size: int) -> LimitExceeded:
    """Return the error for a record over 72 KiB."""
    said = f"{name}: its record is {size:,} bytes, may be at most {MAX_RECORD_BYTES:,}"
    return LimitExceeded(said, size=size, limit=MAX_RECORD_BYTES)


def out_of_range(name: str) -> InvalidInput:
    """Return the error for numbers that do not fit into a record."""
    return InvalidInput(f"{name}: size, payload, address type or mtime is out of range")
