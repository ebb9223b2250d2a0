"""Content hash of few changes, computed from their staged records without Arrow.

The result is that of `ContentHash` for the same rows as a table in `RECORD_SCHEMA`, so a commit header does not depend
on the path by which it was built.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import pyarrow as pa

from graveler_core.codec.content_hash import HASH, NULL, column_head, table_head
from graveler_core.codec.record_format import HAS_MTIME, HEADER, TOMBSTONE_VALUE, VERSION, malformed
from graveler_core.codec.tail import CONTENT_ID_BYTES, TAIL, present_bit
from graveler_core.model.entry import IDENTITY_BYTES, RECORD_SCHEMA

OPERATIONS_TAG = b"operations"
_HEADER = struct.Struct(f"<BB1s2s8s8s{IDENTITY_BYTES}s5I")
"""Header of a record. All numbers except the lengths are read as bytes."""
_CONTENT_ID, _ADDRESS, _CHECKSUM, _CONTENT_TYPE, _METADATA, _DATA = map(present_bit, TAIL)
_COLUMNS = [
    (column_head(field), pa.types.is_primitive(field.type) or pa.types.is_fixed_size_binary(field.type))
    for field in RECORD_SCHEMA
]
"""For each column, its head and a flag that is true for fixed width."""
_NO_CONTENT_ID = bytes(CONTENT_ID_BYTES)
_GONE_SHAPE = (0, NULL, 0, 0, NULL, 0, NULL, NULL, NULL, 0, 0, 1)
_GONE = (bytes(IDENTITY_BYTES), b"", b"\0", bytes(8), b"", bytes(8), b"", b"", b"", b"\0\0", _NO_CONTENT_ID, b"\1")
"""Columns of a tombstone after its key."""

_Row = tuple[tuple[int, ...], tuple[bytes, ...]]
"""For each column of `RECORD_SCHEMA`, the length of the value, or 1 (`NULL` or 0 for null), and its bytes."""


def rows_digest(records: Sequence[tuple[bytes, bytes]]) -> bytes:
    """Return the hash over changes as rows, 32 bytes.

    Args:
        records: Key and staged record of each change, sorted by key.

    Raises:
        CorruptData: A record is truncated or has another version. The content of its fields is not checked.
    """
    rows = [_row(key, record) for key, record in records]
    shapes = zip(*(shape for shape, _ in rows), strict=True) if rows else [()] * len(_COLUMNS)
    contents = zip(*(content for _, content in rows), strict=True) if rows else [()] * len(_COLUMNS)
    lengths = struct.Struct(f"<{len(rows)}I").pack
    parts = [table_head(OPERATIONS_TAG, len(rows))]
    for (head, fixed), shape, content in zip(_COLUMNS, shapes, contents, strict=True):
        parts += (head, HASH(bytes(shape) if fixed else lengths(*shape)).digest(), HASH(b"".join(content)).digest())
    return HASH(b"".join(parts)).digest()


def _row(key: bytes, record: bytes) -> _Row:
    if record == TOMBSTONE_VALUE:
        return (len(key), *_GONE_SHAPE), (key, *_GONE)
    try:
        version, flags, kind, payload, size, mtime, identity, a, b, c, d, e = _HEADER.unpack_from(record)
    except struct.error as error:
        raise malformed(key.decode(errors="replace")) from error
    has_content_id = 1 if flags & _CONTENT_ID else 0
    content_id = HEADER.size
    address = content_id + CONTENT_ID_BYTES * has_content_id
    checksum = address + a
    content_type = checksum + b
    metadata = content_type + c
    data = metadata + d
    if version != VERSION or data + e != len(record):
        raise malformed(key.decode(errors="replace"))
    shape = (
        len(key),
        1,
        a if flags & _ADDRESS else NULL,
        1,
        1,
        b if flags & _CHECKSUM else NULL,
        1 if flags & HAS_MTIME else 0,
        c if flags & _CONTENT_TYPE else NULL,
        d if flags & _METADATA else NULL,
        e if flags & _DATA else NULL,
        1,
        has_content_id,
        1,
    )
    return shape, (
        key,
        identity,
        record[address:checksum],
        kind,
        size,
        record[checksum:content_type],
        mtime,
        record[content_type:metadata],
        record[metadata:data],
        record[data:],
        payload,
        record[content_id:address] if has_content_id else _NO_CONTENT_ID,
        b"\0",
    )
