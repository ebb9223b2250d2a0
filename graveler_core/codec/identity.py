"""Identity of an entry: the hash that decides whether two entries are equal in diff, merge and `NoChanges`.

The hash covers address type, size, checksum, content type, metadata, data, payload and content id. It covers the
address only if there is no checksum (null or empty), so the same content at another location is the same entry. It does
not cover the key and the modification time. Source: the storage model, "Entries". Hashed bytes, little-endian:

    version u8 · flags u8 · address_type i8 · payload i16 · size i64 · 5 lengths u32 · the tail fields that are not
    null
"""

from __future__ import annotations

import struct
from operator import methodcaller

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import fixed_binary, fixed_rows, joined, slices
from graveler_core.codec.content_hash import HASH
from graveler_core.codec.row_name import entry_name
from graveler_core.codec.tail import (
    MEASURED,
    TAIL,
    TailValues,
    present_bits,
    present_flags,
    tail_columns,
    tail_lengths,
    tail_values,
)
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import IDENTITY_BYTES, Entry

VERSION = 1
_HEADER = struct.Struct("<BBbhq5I")
_DTYPE = np.dtype(
    [
        ("version", "u1"),
        ("flags", "u1"),
        ("address_type", "i1"),
        ("payload", "<i2"),
        ("size", "<i8"),
        ("lengths", "<u4", (len(MEASURED),)),
    ]
)


def identity(entry: Entry, known: TailValues | None = None) -> bytes:
    """Return the identity of one entry, 32 bytes. Its `identity` field is ignored.

    Args:
        entry: The entry.
        known: Its tail fields, if they have been computed already.

    Raises:
        InvalidInput: A number is out of range, or a text is not valid Unicode.
    """
    values = known or tail_values(entry, f"entry {entry.path!r}")
    if values["checksum"]:
        values = values | {"address": None}
    fields = [value or b"" for value in values.values()]
    numbers = entry.address_type, entry.payload, entry.size, *map(len, fields[1:])
    try:
        header = _HEADER.pack(VERSION, present_flags(values), *numbers)
    except struct.error as e:
        raise InvalidInput(f"entry {entry.path!r}: size or payload is out of range") from e
    return HASH(header + b"".join(fields)).digest()


def identities(table: pa.Table | pa.RecordBatch) -> pa.FixedSizeBinaryArray:
    """Return the identity of each row of a table with the columns of `ENTRY_SCHEMA`. `identity`, `key` and `mtime` may
    be missing.

    Null numbers count as 0. The hash is the only operation for each row, and runs in C.

    Raises:
        InvalidInput: Metadata has a duplicated key or a null.
    """
    digests = b"".join(b"".join(_digests(batch)) for batch in slices(table))
    return pa.Array.from_buffers(
        pa.binary(IDENTITY_BYTES), len(digests) // IDENTITY_BYTES, [None, pa.py_buffer(digests)]
    )


def _digests(batch: pa.RecordBatch) -> list[bytes]:
    columns = tail_columns(batch, lambda row: entry_name(batch, row))
    has_checksum = pc.greater(pc.binary_length(columns["checksum"]), 0).fill_null(False)
    columns["address"] = pc.if_else(has_checksum, pa.scalar(None, pa.binary()), columns["address"])
    header = np.zeros(batch.num_rows, dtype=_DTYPE)
    header["version"] = VERSION
    header["flags"] = present_bits(columns)
    for name in ("address_type", "payload", "size"):
        header[name] = fixed_rows(batch.column(name))
    header["lengths"] = tail_lengths(columns)[:, 1:]
    head = fixed_binary(header.view(f"V{_DTYPE.itemsize}")).cast(pa.binary())
    rows = joined([head, *(columns[field] for field in TAIL)])
    return list(map(methodcaller("digest"), map(HASH, rows.to_numpy(zero_copy_only=False))))
