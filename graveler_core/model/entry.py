"""Entries: the metadata of paths. One Arrow schema serves staging, ranges, Spark and `to_arrow`.

Bulk operations move Arrow tables in `ENTRY_SCHEMA` or in `RECORD_SCHEMA`, which adds a tombstone column. Only single
lookups and the iterators of the façade create `Entry` values.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import IntEnum

import pyarrow as pa

from graveler_core.model.html import html_table

MAX_RECORD_BYTES = 72 * 1024
IDENTITY_BYTES = 32


class AddressType(IntEnum):
    """Interpretation of an entry's address."""

    INLINE = 0
    """The entry has no address; `data` is the content."""
    RELATIVE = 1
    """Relative to the storage namespace of the repository."""
    FULL = 2
    """URI of an object that the repository does not manage."""


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
"""Columns of entries. A table that is called sorted is sorted by `key`, compared as bytes."""

TOMBSTONE = "tombstone"
RECORD_SCHEMA = pa.schema(
    [pa.field(f.name, f.type) if f.name not in ("key",) else f for f in ENTRY_SCHEMA]
    + [pa.field(TOMBSTONE, pa.bool_(), nullable=False)]
)
"""Columns of staged records: those of an entry, nullable except the key, and `tombstone`. The other columns of a
tombstone are null.
"""
REMOVED = "removed"
"""Boolean column of tables that users stage. A row with true removes its path; its other columns are ignored."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Metadata of a path: the location of its content and its attributes.

    `identity` is computed by graveler when the entry is staged. It covers everything except path, mtime and, if there
    is a checksum, the address. Two entries are equal if their identities are equal.
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

    def html_rows(self) -> dict[str, object]:
        """Return what a notebook shows of the entry, by name."""
        return {
            "size": self.size if self.data is None else len(self.data),
            "content type": self.content_type,
            "modified": self.mtime,
            "checksum": self.checksum,
            "address": self.address,
            "metadata": dict(self.metadata),
        }

    def _html_row(self) -> dict[str, object]:
        """Return what a listing in a notebook shows of the entry, by name."""
        return {"path": self.path, **self.html_rows()}

    def _repr_html_(self) -> str:
        return html_table(f"Entry {self.path}", self.html_rows())


@dataclass(frozen=True, slots=True)
class CommonPrefix:
    """Placeholder in a delimited listing for all paths that begin with `path`, which ends in the delimiter."""

    path: str

    def _repr_html_(self) -> str:
        return html_table(f"Prefix {self.path}", {})
