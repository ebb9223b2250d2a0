"""Content hashes, from which ranges, commits and objects get their ids. Source: the storage model, "Segments, ranges".

The hash is blake2b with 32 bytes. The hash of a table covers only its logical content: equal rows give equal hashes,
for any division into batches, chunks and slices, and for any file format or writer.
"""

from __future__ import annotations

import hashlib
import struct
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from graveler_core.codec.columns import byte_rows, fixed_rows, slices, validity
from graveler_core.codec.metadata_map import encode_maps
from graveler_core.errors import InvalidInput

DIGEST_BYTES = 32
HASH = partial(hashlib.blake2b, digest_size=DIGEST_BYTES)
"""blake2b-256."""
_VERSION = 1
NULL = 0xFFFFFFFF
"""Length that represents a null row."""
_SLICE_ROWS = 65_536


def hex_id(data: bytes) -> str:
    """Return the content hash of bytes, as 64 hexadecimal digits."""
    return HASH(data).hexdigest()


def table_head(tag: bytes, rows: int) -> bytes:
    """Return the bytes that the hash of a table covers before its columns."""
    return struct.pack("<BB", _VERSION, len(tag)) + tag + struct.pack("<Q", rows)


def column_head(field: pa.Field) -> bytes:
    """Return the bytes that the hash of a table covers for a column before its two digests: name and kind."""
    name: bytes = field.name.encode()
    kind = _kind(field)
    return struct.pack("<HB", len(name), len(kind)) + name + kind


class ContentHash:
    """Streaming hash over the rows of tables with one schema.

    Each column has two streams. For text, binary and maps, they are the lengths of the rows (u32, all ones for null)
    and the concatenated bytes. A map is given by its canonical bytes; an empty map counts as null. For fixed width,
    they are one byte for each row, 0 for null, and the values, zero for null. The id is the hash of version, tag, row
    count, and for each column in the order of the schema its name, kind and both digests. All numbers are
    little-endian.

    Args:
        tag: Kind of the hashed table (`b"range"`, `b"operations"`). Equal rows with different tags have different
            hashes.
        schema: Columns to hash, in this order.
    """

    def __init__(self, tag: bytes, schema: pa.Schema) -> None:
        self._tag = tag
        self._columns = [_Column(field) for field in schema]
        self._rows = 0

    def update(self, table: pa.Table | pa.RecordBatch) -> None:
        """Append rows. Columns are selected by name and may have any type that casts to the type in the schema without
        loss.

        Raises:
            InvalidInput: A column is missing or does not cast.
        """
        for batch in slices(table, _SLICE_ROWS):
            for column in self._columns:
                column.update(batch)
            self._rows += batch.num_rows

    def digest(self) -> bytes:
        """Return the current hash, 32 bytes."""
        columns = [column.digest() for column in self._columns]
        return HASH(b"".join([table_head(self._tag, self._rows), *columns])).digest()

    def hexdigest(self) -> str:
        """Return the current hash, 64 hexadecimal digits."""
        return self.digest().hex()


class _Column:
    """Two streams of one column."""

    def __init__(self, field: pa.Field) -> None:
        self._name: str = field.name
        self._type, self._kind, self._head = field.type, _kind(field), column_head(field)
        self._shape, self._data = HASH(), HASH()

    def update(self, batch: pa.RecordBatch) -> None:
        array = self._conformed(batch)
        if self._kind.startswith(b"f"):
            self._feed(validity(array).astype(np.uint8), fixed_rows(array))
            return
        if self._kind == b"map":
            array = encode_maps(array, lambda row: f"row {row}")
        rows = byte_rows(array)
        self._feed(np.where(rows.valid, rows.lengths, NULL).astype("<u4"), rows.data)

    def digest(self) -> bytes:
        return b"".join((self._head, self._shape.digest(), self._data.digest()))

    def _feed(self, shape: Any, data: Any) -> None:
        self._shape.update(np.ascontiguousarray(shape).view(np.uint8).data)
        self._data.update(np.ascontiguousarray(data).view(np.uint8).data)

    def _conformed(self, batch: pa.RecordBatch) -> pa.Array:
        if batch.schema.get_field_index(self._name) < 0:
            raise InvalidInput(f"column {self._name!r}: is missing or duplicated")
        array = batch.column(self._name)
        if array.type == self._type or self._kind == b"map" or (self._kind == b"bytes" and _is_bytes(array.type)):
            return array
        try:
            return array.cast(self._type)
        except pa.ArrowException as e:
            raise InvalidInput(f"column {self._name!r}: {array.type} cannot be converted to {self._type}") from e


def _is_bytes(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_binary(kind) or types.is_string(kind) or types.is_large_binary(kind) or types.is_large_string(kind)
    )


def _kind(field: pa.Field) -> bytes:
    kind = field.type
    if _is_bytes(kind):
        return b"bytes"
    if pa.types.is_map(kind):
        return b"map"
    if pa.types.is_boolean(kind):
        return b"f1"
    if pa.types.is_primitive(kind) or pa.types.is_fixed_size_binary(kind):
        return b"f%d" % (kind.bit_width // 8)
    raise InvalidInput(f"column {field.name!r}: no content hash for {kind}")
