"""Content hashes: what gives ranges, commits and objects their ids. Source: the storage model, "Segments, ranges".

The hash is blake2b with 32 bytes. A table's hash covers its logical content alone: the same rows give the same hash
however they are cut into batches, chunks and slices, and whatever file format or writer they came from.
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
"""The length of a row that is null."""
_SLICE_ROWS = 65_536


def hex_id(data: bytes) -> str:
    """The content hash of some bytes, as 64 hex digits."""
    return HASH(data).hexdigest()


def table_head(tag: bytes, rows: int) -> bytes:
    """What a table's hash covers before its columns."""
    return struct.pack("<BB", _VERSION, len(tag)) + tag + struct.pack("<Q", rows)


def column_head(field: pa.Field) -> bytes:
    """What a table's hash covers of a column before the digests of its two streams: its name and kind."""
    name: bytes = field.name.encode()
    kind = _kind(field)
    return struct.pack("<HB", len(name), len(kind)) + name + kind


class ContentHash:
    """A streaming hash over the rows of tables of one schema.

    Each column has two streams. Text, binary and maps: the rows' lengths (u32, all ones = null), and their bytes end
    to end (a map: its canonical bytes; an empty map is a null). Fixed width: one byte a row that is 0 for null, and the
    values, zeros for null. The id hashes version, tag, row count, and name, kind and both digests of each column in the
    schema's order. All numbers are little-endian.

    Args:
        tag: What is hashed (`b"range"`, `b"operations"`); equal rows under different tags have different hashes.
        schema: The columns that count, in this order.
    """

    def __init__(self, tag: bytes, schema: pa.Schema) -> None:
        self._tag = tag
        self._columns = [_Column(field) for field in schema]
        self._rows = 0

    def update(self, table: pa.Table | pa.RecordBatch) -> None:
        """Append rows. Columns are taken by name and may have any type that casts to the schema's without loss.

        Raises:
            InvalidInput: a column is missing or does not cast.
        """
        for batch in slices(table, _SLICE_ROWS):
            for column in self._columns:
                column.update(batch)
            self._rows += batch.num_rows

    def digest(self) -> bytes:
        """The 32 bytes of the hash so far."""
        columns = [column.digest() for column in self._columns]
        return HASH(b"".join([table_head(self._tag, self._rows), *columns])).digest()

    def hexdigest(self) -> str:
        """The hash so far, as 64 hex digits."""
        return self.digest().hex()


class _Column:
    """The two streams of one column."""

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
            raise InvalidInput(f"column {self._name!r}: is missing, or there twice")
        array = batch.column(self._name)
        if array.type == self._type or self._kind == b"map" or (self._kind == b"bytes" and _is_bytes(array.type)):
            return array
        try:
            return array.cast(self._type)
        except pa.ArrowException as e:
            raise InvalidInput(f"column {self._name!r}: {array.type} does not become {self._type}") from e


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
