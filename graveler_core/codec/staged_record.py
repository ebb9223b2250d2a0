"""Staged record: the value of a path in the key-value partition of a staging token. Format version 1.

    entry      version u8 · flags u8 · address_type i8 · payload i16 · size i64 · mtime i64 (µs since 1970, UTC) ·
               identity 32 bytes · 5 lengths u32 · content_id (16 bytes or none) · address · checksum · content_type ·
               metadata (canonical) · data
    tombstone  version u8 · flags u8 = 1

All numbers are little-endian. Flags: 1 tombstone, 2 mtime, then content_id, address, checksum, content_type, metadata,
data; each is set if the field is not null. An entry has exactly one encoding, and the decoder accepts no other.

This module handles one record at a time. `staged_records` handles columns, with the same bytes.
"""

from __future__ import annotations

import struct
import uuid
from datetime import timedelta

from graveler_core.codec.identity import identity
from graveler_core.codec.metadata_map import decode_map
from graveler_core.codec.record_format import (
    ADDRESS_TYPES,
    EPOCH,
    HAS_MTIME,
    HEADER,
    IS_TOMBSTONE,
    MAX_MTIME,
    MIN_MTIME,
    TOMBSTONE_VALUE,
    VERSION,
    malformed,
    microseconds,
    out_of_range,
    too_large,
    unknown_version,
)
from graveler_core.codec.tail import (
    CONTENT_ID_BYTES,
    TAIL,
    TailValues,
    present_bit,
    present_flags,
    tail_values,
)
from graveler_core.model.entry import MAX_RECORD_BYTES, Entry


def encode_tombstone() -> bytes:
    """Return the record of a removed path."""
    return TOMBSTONE_VALUE


def encode_entry(entry: Entry, known: TailValues | None = None) -> bytes:
    """Return the record of one entry. The identity is computed if it is missing.

    Args:
        entry: The entry.
        known: Its tail fields, if they have been computed already.

    Raises:
        InvalidInput: A number or time is out of range, or a text is not valid Unicode.
        LimitExceeded: The record is larger than 72 KiB.
    """
    name = f"entry {entry.path!r}"
    values = known or tail_values(entry, name)
    fields = [value or b"" for value in values.values()]
    flags = present_flags(values) | (0 if entry.mtime is None else HAS_MTIME)
    mtime = microseconds(entry.mtime, name)
    own = entry.identity or identity(entry, values)
    try:
        lengths = map(len, fields[1:])
        header = HEADER.pack(VERSION, flags, entry.address_type, entry.payload, entry.size, mtime, own, *lengths)
    except struct.error as e:
        raise out_of_range(name) from e
    if entry.size < 0 or not 0 <= entry.address_type < len(ADDRESS_TYPES):
        raise out_of_range(name)
    record = header + b"".join(fields)
    if len(record) > MAX_RECORD_BYTES:
        raise too_large(name, len(record))
    return record


def decode_record(path: str, value: bytes) -> Entry | None:
    """Decode the record of a path. Return `None` for a tombstone.

    Raises:
        CorruptData: The value is not a result of `encode_entry` or `encode_tombstone`, or has an unknown version.
    """
    if value == TOMBSTONE_VALUE:
        return None
    if value and value[0] != VERSION:
        raise unknown_version(path, value[0])
    if not HEADER.size <= len(value) <= MAX_RECORD_BYTES:
        raise malformed(path)
    _, flags, address_type, payload, size, mtime, own, *measured = HEADER.unpack_from(value)
    in_range = MIN_MTIME <= mtime <= MAX_MTIME if flags & HAS_MTIME else mtime == 0
    if flags & IS_TOMBSTONE or size < 0 or not 0 <= address_type < len(ADDRESS_TYPES) or not in_range:
        raise malformed(path)
    fields = _cut(path, value, flags, measured)
    content_id = fields["content_id"]
    return Entry(
        address=_text(path, fields["address"]),
        size=size,
        checksum=_text(path, fields["checksum"]),
        mtime=EPOCH + timedelta(microseconds=mtime) if flags & HAS_MTIME else None,
        content_type=_text(path, fields["content_type"]),
        metadata=decode_map(fields["metadata"] or b"", f"staged record of {path!r}"),
        data=fields["data"],
        payload=payload,
        content_id=None if content_id is None else uuid.UUID(bytes=content_id),
        address_type=ADDRESS_TYPES[address_type],
        path=path,
        identity=own,
    )


def _cut(path: str, value: bytes, flags: int, measured: list[int]) -> dict[str, bytes | None]:
    """Return the tail fields of one record."""
    lengths = [CONTENT_ID_BYTES if flags & present_bit("content_id") else 0, *measured]
    fields: dict[str, bytes | None] = {}
    at = HEADER.size
    for field, length in zip(TAIL, lengths, strict=True):
        present = flags & present_bit(field)
        if length and not present:
            raise malformed(path)
        fields[field] = value[at : at + length] if present else None
        at += length
    if at != len(value) or fields["metadata"] == b"":
        raise malformed(path)
    return fields


def _text(path: str, value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as e:
        raise malformed(path) from e
