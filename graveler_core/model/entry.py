"""An entry: what a path holds. One Arrow schema for staging, ranges, Spark and `to_arrow`, and one value for people.

Bulk paths move Arrow tables in `ENTRY_SCHEMA` (or `RECORD_SCHEMA`, which adds whether a row is a tombstone); only
single lookups and iterators at the façade make `Entry` values.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

import pyarrow as pa

MAX_RECORD_BYTES = 72 * 1024
IDENTITY_BYTES = 32


class AddressType(IntEnum):
    """How to read an entry's address."""

    INLINE = 0
    """No address: the content is the entry's `data`."""
    RELATIVE = 1
    """Below the repository's storage namespace."""
    FULL = 2
    """A URI of its own, outside what the repository manages."""


ENTRY_SCHEMA = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("identity", pa.binary(IDENTITY_BYTES), nullable=False),
        pa.field("address", pa.string()),
        pa.field("address_type", pa.int8(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("checksum", pa.string()),
        pa.field("mtime", pa.timestamp("us", tz="UTC")),
        pa.field("content_type", pa.string()),
        pa.field("metadata", pa.map_(pa.string(), pa.string())),
        pa.field("data", pa.binary()),
        pa.field("payload", pa.int16(), nullable=False),
        pa.field("content_id", pa.binary(16)),
    ]
)
"""Columns of entries, sorted by `key` as bytes wherever a table is called sorted."""

TOMBSTONE = "tombstone"
RECORD_SCHEMA = pa.schema(
    [pa.field(f.name, f.type) if f.name not in ("key",) else f for f in ENTRY_SCHEMA]
    + [pa.field(TOMBSTONE, pa.bool_(), nullable=False)]
)
"""Columns of staged records: an entry's, all nullable but the key, and `tombstone`. A tombstone has nulls elsewhere."""
REMOVED = "removed"
"""A column of tables that people stage: where it is true, the row removes its path, and says nothing else."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a path holds: where the content is, and what is known of it.

    `identity` is computed by graveler when the entry is staged, from everything but path, mtime and (where there is a
    checksum) address; it decides whether two entries are equal.
    """

    address: str | None = None
    size: int = 0
    checksum: str | None = None
    mtime: datetime | None = None
    content_type: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    data: bytes | None = None
    payload: int = 0
    content_id: uuid.UUID | None = None
    address_type: AddressType = AddressType.RELATIVE
    path: str = ""
    identity: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """Stands in a delimited listing for all paths that begin with `path`, which ends in the delimiter."""

    path: str
