"""Canonical encoding of an entry's metadata: pairs sorted by key; each pair is two u32 lengths (little-endian), key,
value.

An empty map and null are the same entry, so both are encoded as null. Maps of a whole column are encoded and decoded at
once. A single map has its own functions, with equal bytes.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.codec.columns import (
    byte_rows,
    fixed_binary,
    gather,
    joined,
    pieces,
    row_lengths,
    spans,
    validity,
    with_nulls,
)
from graveler_core.errors import CorruptData, InvalidInput

MAP_TYPE = pa.map_(pa.string(), pa.string())
_PAIR = struct.Struct("<II")
_LENGTHS = np.dtype([("key", "<u4"), ("value", "<u4")])

RowName = Callable[[int], str]
"""Function that returns the name of row i in error messages."""


def encode_map(metadata: Mapping[str, str], name: str) -> bytes | None:
    """Return the canonical bytes of one map, or `None` if it is empty.

    Raises:
        InvalidInput: A key or value is not text; the message begins with `name`.
    """
    try:
        pairs = sorted((key.encode(), value.encode()) for key, value in metadata.items())
    except (AttributeError, UnicodeEncodeError) as e:
        raise InvalidInput(f"{name}: metadata must map text to text, in valid Unicode") from e
    return b"".join(_PAIR.pack(len(k), len(v)) + k + v for k, v in pairs) or None


def decode_map(blob: bytes, name: str) -> dict[str, str]:
    """Decode one canonical map.

    Raises:
        CorruptData: The bytes are damaged; the message begins with `name`.
    """
    metadata: dict[str, str] = {}
    at, last = 0, None
    while at < len(blob):
        if len(blob) - at < _PAIR.size:
            raise _corrupt(name)
        key_length, value_length = _PAIR.unpack_from(blob, at)
        middle = at + _PAIR.size + key_length
        key, value = blob[at + _PAIR.size : middle], blob[middle : middle + value_length]
        at = middle + value_length
        if at > len(blob) or (last is not None and key <= last):
            raise _corrupt(name)
        try:
            metadata[key.decode()] = value.decode()
        except UnicodeDecodeError as e:
            raise _corrupt(name) from e
        last = key
    return metadata


def encode_maps(column: pa.Array, name: RowName) -> pa.BinaryArray:
    """Return the canonical bytes of each map of a column (map, or list of {key, value}), null for null or empty maps.

    Raises:
        InvalidInput: A map has a duplicated key, or a null key or value; the message begins with `name(row)`.
    """
    valid = validity(column)
    if pa.types.is_null(column.type) or not valid.any():
        return pa.nulls(len(column), pa.binary())
    counts, keys, values = _pairs(column, valid)
    rows = np.repeat(np.arange(len(column)), counts)
    if keys.null_count or values.null_count:
        bad = rows[~(validity(keys) & validity(values))][0]
        raise InvalidInput(f"{name(int(bad))}: metadata must not contain nulls")
    keys, values = _sorted(rows, keys, values, name)
    lengths = np.empty(len(keys), dtype=_LENGTHS)
    lengths["key"], lengths["value"] = row_lengths(keys), row_lengths(values)
    pairs = joined([fixed_binary(lengths.view("V8")).cast(pa.binary()), keys, values])
    bounds, data = spans(pairs)
    ends = np.concatenate([[0], np.cumsum(counts)])
    return with_nulls(pieces(data, bounds[ends]), pa.binary(), counts > 0)


def decode_maps(blobs: pa.BinaryArray, name: RowName) -> pa.MapArray:
    """Decode canonical maps. Null gives null.

    All rows are decoded together, pair by pair, so the number of steps is the largest number of pairs in a map.

    Raises:
        CorruptData: A map is truncated, out of order, empty, or not UTF-8; the message begins with `name(row)`.
    """
    valid = validity(blobs)
    if not valid.any():
        return pa.nulls(len(blobs), MAP_TYPE)
    content = byte_rows(blobs)
    data, bounds = content.data, np.concatenate([[0], np.cumsum(content.lengths)])
    starts, counts = _walk(data, bounds, valid, name)
    lengths = gather(data, starts, _PAIR.size).view(_LENGTHS)
    cuts = np.empty(3 * len(starts) + 1, dtype=np.int64)
    cuts[0:-1:3] = starts
    cuts[1::3] = starts + _PAIR.size
    cuts[2::3] = cuts[1::3] + lengths["key"]
    cuts[-1] = len(data)
    parts = pieces(data, cuts)
    which = np.arange(len(starts)) * 3
    rows = np.repeat(np.arange(len(blobs)), counts)
    keys, values = (_text(parts.take(pa.array(which + n)), rows, name) for n in (1, 2))
    _ascending(rows, keys, lambda row: _corrupt(name(row)))
    offsets = pa.array(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32), mask=np.append(~valid, False))
    return pa.MapArray.from_arrays(offsets, keys, values)


def _walk(
    data: NDArray[np.uint8], bounds: NDArray[np.int64], valid: NDArray[np.bool_], name: RowName
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the start of each pair, in order, and the number of pairs of each row."""
    rows, at = np.flatnonzero(valid), bounds[:-1][valid]
    counts = np.zeros(len(valid), dtype=np.int64)
    found = []
    while len(rows):
        ends = bounds[1:][rows]
        short = ends - at < _PAIR.size
        if short.any():
            raise _corrupt(name(int(rows[short][0])))
        found.append(at)
        counts[rows] += 1
        lengths = gather(data, at, _PAIR.size).view(_LENGTHS)
        at = at + _PAIR.size + lengths["key"].astype(np.int64) + lengths["value"].astype(np.int64)
        if (at > ends).any():
            raise _corrupt(name(int(rows[at > ends][0])))
        more = at < ends
        rows, at = rows[more], at[more]
    return np.sort(np.concatenate(found)), counts


def _pairs(column: pa.Array, valid: NDArray[np.bool_]) -> tuple[NDArray[np.int64], pa.Array, pa.Array]:
    """Return the number of pairs of each row, and the keys and values of all rows as binary. Null slots are ignored."""
    kind = column.type
    if pa.types.is_map(kind):
        column = column.cast(_as_list(kind))
    if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
        pairs = column.flatten()
        if pa.types.is_struct(pairs.type) and pairs.type.num_fields == 2 and pairs.null_count == 0:
            counts = pc.list_value_length(column).fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64)
            try:
                keys, values = (part.cast(pa.string()).cast(pa.binary()) for part in pairs.flatten())
            except pa.ArrowException as e:
                raise InvalidInput(f"metadata: must map text to text, but is {kind}") from e
            return np.where(valid, counts, 0), keys, values
    raise InvalidInput(f"metadata: must be a map of text to text, but is {kind}")


def _as_list(kind: pa.DataType) -> pa.DataType:
    return pa.list_(pa.struct([pa.field("key", kind.key_type, nullable=False), pa.field("value", kind.item_type)]))


def _sorted(rows: NDArray[np.int64], keys: pa.Array, values: pa.Array, name: RowName) -> tuple[pa.Array, pa.Array]:
    """Sort the pairs of each row by key.

    Raises:
        InvalidInput: A row has a duplicated key.
    """
    if len(keys) > 1 and _unordered(rows, keys).any():
        table = pa.table({"row": rows, "key": keys})
        order = pc.sort_indices(table, sort_keys=[("row", "ascending"), ("key", "ascending")])
        keys, values = keys.take(order), values.take(order)
        _ascending(rows, keys, lambda row: InvalidInput(f"{name(row)}: metadata has a key twice"))
    return keys, values


def _unordered(rows: NDArray[np.int64], keys: pa.Array) -> NDArray[np.bool_]:
    ascending: NDArray[np.bool_] = pc.less(keys[:-1], keys[1:]).to_numpy(zero_copy_only=False)
    unordered: NDArray[np.bool_] = (rows[:-1] == rows[1:]) & ~ascending
    return unordered


def _ascending(rows: NDArray[np.int64], keys: pa.Array, error: Callable[[int], Exception]) -> None:
    bad = _unordered(rows, keys)
    if bad.any():
        raise error(int(rows[:-1][bad][0]))


def _text(array: pa.BinaryArray, rows: NDArray[np.int64], name: RowName) -> pa.StringArray:
    text = with_nulls(array, pa.string(), np.ones(len(array), dtype=np.bool_))
    try:
        text.validate(full=True)
    except pa.ArrowInvalid as e:
        raise _corrupt(name(int(rows[first_invalid_text(array)]))) from e
    return text


def first_invalid_text(array: pa.BinaryArray) -> int:
    """Return the first row that is not UTF-8, for an error message; 0 if there is none."""
    for row, value in enumerate(array.to_pylist()):
        try:
            (value or b"").decode()
        except UnicodeDecodeError:
            return row
    return 0


def _corrupt(name: str) -> CorruptData:
    return CorruptData(f"{name}: its metadata is not a canonical map of text to text")
