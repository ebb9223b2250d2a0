"""Variable fields of an entry, in the one order that identities and staged records use."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.codec.columns import row_lengths
from graveler_core.codec.metadata_map import RowName, encode_map, encode_maps
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import Entry

TAIL = ("content_id", "address", "checksum", "content_type", "metadata", "data")
"""All fields may be null. The content id has 16 bytes or none; the lengths of the others are stored in a header."""
MEASURED = TAIL[1:]
CONTENT_ID_BYTES = 16
_BITS = {field: 4 << place for place, field in enumerate(TAIL)}
TailValues: TypeAlias = dict[str, bytes | None]
"""Tail fields of one entry, in the order of `TAIL`."""


def present_bit(name: str) -> int:
    """Return the bit in a header's flags that is set if a tail field is not null."""
    return _BITS[name]


def tail_columns(batch: pa.RecordBatch, name: RowName) -> dict[str, pa.Array]:
    """Return the tail fields of a batch as binary columns, with metadata in canonical bytes."""
    columns = {field: batch.column(field) for field in TAIL}
    columns["metadata"] = encode_maps(columns["metadata"], name)
    return {field: column.cast(pa.binary()) for field, column in columns.items()}


def tail_lengths(columns: dict[str, pa.Array]) -> NDArray[np.int64]:
    """Return the length of each tail field of each row in bytes; shape (rows, 6)."""
    return np.stack([row_lengths(columns[field]) for field in TAIL], axis=1)


def present_bits(columns: dict[str, pa.Array]) -> NDArray[np.uint8]:
    """Return the flags of each row for the tail fields that are not null."""
    some = next(iter(columns.values()))
    flags = np.zeros(len(some), dtype=np.uint8)
    for field, column in columns.items():
        if column.null_count < len(column):
            flags |= column.is_valid().to_numpy(zero_copy_only=False).astype(np.uint8) * np.uint8(present_bit(field))
    return flags


def tail_values(entry: Entry, name: str) -> TailValues:
    """Return the tail fields of one entry, as `tail_columns` does for a batch.

    Raises:
        InvalidInput: A text is not valid Unicode; the message begins with `name`.
    """
    try:
        return {
            "content_id": None if entry.content_id is None else entry.content_id.bytes,
            "address": None if entry.address is None else entry.address.encode(),
            "checksum": None if entry.checksum is None else entry.checksum.encode(),
            "content_type": None if entry.content_type is None else entry.content_type.encode(),
            "metadata": encode_map(entry.metadata, name),
            "data": None if entry.data is None else bytes(memoryview(entry.data)),
        }
    except (AttributeError, TypeError, UnicodeEncodeError) as e:
        raise InvalidInput(f"{name}: a field of the entry has the wrong type or is not valid Unicode") from e


def present_flags(values: TailValues) -> int:
    """Return the flags of one entry, as `present_bits` does for a batch."""
    return sum([bit for bit, value in zip(_BITS.values(), values.values(), strict=True) if value is not None])
