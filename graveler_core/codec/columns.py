"""Arrow columns as numpy arrays. This is the only module that reads Arrow buffers.

The functions do not depend on chunks, slices, padding, or the content of null slots.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

SLICE_ROWS = 16_384
"""Number of rows processed at once: small enough for caches, and 16,384 records of 72 KiB stay below the 2 GiB limit of
Arrow's offsets.
"""


@dataclass(frozen=True, slots=True)
class Bytes:
    """Binary or text column: lengths of the rows (0 for null), and the concatenated bytes of the rows that are not
    null.
    """

    lengths: NDArray[np.int64]
    data: NDArray[np.uint8]
    valid: NDArray[np.bool_]


def slices(table: pa.Table | pa.RecordBatch, rows: int = SLICE_ROWS) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a table in batches of at most `rows`, without copying."""
    if isinstance(table, pa.RecordBatch):
        table = pa.Table.from_batches([table])
    yield from (batch for batch in table.to_batches(max_chunksize=rows) if batch.num_rows)


def validity(array: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the rows that are not null."""
    if array.null_count == 0:
        return np.ones(len(array), dtype=np.bool_)
    mask: NDArray[np.bool_] = array.is_valid().to_numpy(zero_copy_only=False)
    return mask


def byte_rows(array: pa.Array) -> Bytes:
    """View a (large) binary or text array. Copies only if null slots contain bytes."""
    valid = validity(array)
    starts, data = spans(array)
    lengths = np.diff(starts)
    if array.null_count and lengths[~valid].any():
        return Bytes(lengths=(clean := byte_rows(array.fill_null(""))).lengths, data=clean.data, valid=valid)
    return Bytes(lengths=lengths, data=data, valid=valid)


def spans(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
    """Return the n + 1 offsets of a (large) binary or text array, starting at 0, and the bytes they refer to."""
    kind = array.type
    wide = pa.types.is_large_binary(kind) or pa.types.is_large_string(kind)
    _, offsets_buffer, data_buffer = array.buffers()
    if len(array) == 0 or offsets_buffer is None:
        return np.zeros(1, dtype=np.int64), np.empty(0, dtype=np.uint8)
    raw = np.frombuffer(offsets_buffer, dtype="<i8" if wide else "<i4")
    offsets = raw[array.offset : array.offset + len(array) + 1].astype(np.int64)
    data = np.empty(0, np.uint8) if data_buffer is None else np.frombuffer(data_buffer, dtype=np.uint8)
    return offsets - offsets[0], data[offsets[0] : offsets[-1]]


def fixed_rows(array: pa.Array) -> NDArray[Any]:
    """View a column of fixed width as little-endian values, zero for null. Binary of width n becomes `V<n>`."""
    kind = array.type
    if pa.types.is_fixed_size_binary(kind):
        if len(array) == 0:
            return np.empty(0, dtype=f"V{kind.byte_width}")
        buffer = array.buffers()[1]
        whole = np.frombuffer(buffer, dtype=np.uint8)[: len(buffer) // kind.byte_width * kind.byte_width]
        values: NDArray[Any] = whole.view(f"V{kind.byte_width}")[array.offset : array.offset + len(array)]
        if array.null_count:
            values = values.copy()
            values[~validity(array)] = np.zeros(1, values.dtype)[0]
        return values
    if pa.types.is_timestamp(kind):
        array = array.cast(pa.int64())
    elif pa.types.is_boolean(kind):
        array = array.cast(pa.int8())
    values = (array.fill_null(0) if array.null_count else array).to_numpy(zero_copy_only=False)
    return values.astype(values.dtype.newbyteorder("<"), copy=False)


def gather(data: NDArray[np.uint8], starts: NDArray[np.int64], width: int) -> NDArray[Any]:
    """Return `width` bytes from each start, as `V<width>`. Every range must lie inside the data."""
    if len(starts) == 0:
        return np.empty(0, dtype=f"V{width}")
    windows: NDArray[Any] = np.ndarray((len(data) - width + 1,), dtype=f"V{width}", buffer=data, strides=(1,))
    return windows[starts]


def pieces(data: NDArray[np.uint8], bounds: NDArray[np.int64]) -> pa.BinaryArray:
    """Return a binary array over `data` without copying: element i is `data[bounds[i] : bounds[i + 1]]`."""
    offsets = bounds.astype("<i4")
    return pa.Array.from_buffers(pa.binary(), len(bounds) - 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def without_first(array: pa.BinaryArray, count: int) -> pa.BinaryArray:
    """Return each row without its first `count` bytes. Every row must have at least that many."""
    offsets, data = spans(array)
    # Arrow's own binary_slice fails on rows shorter than twice the start of the slice.
    bounds = np.empty(2 * len(array) + 1, dtype=np.int64)
    bounds[0::2], bounds[1::2] = offsets, offsets[:-1] + count
    return pieces(data, bounds).take(pa.array(np.arange(1, 2 * len(array), 2)))


def with_nulls(array: pa.BinaryArray, kind: pa.DataType, valid: NDArray[np.bool_]) -> pa.Array:
    """Return the same bytes as binary or text, null where not valid. Text is not checked."""
    _, offsets, data = array.buffers()
    bits = np.concatenate([np.zeros(array.offset, dtype=np.bool_), valid])
    mask = None if valid.all() else pa.py_buffer(np.packbits(bits, bitorder="little"))
    return pa.Array.from_buffers(kind, len(array), [mask, offsets, data], offset=array.offset)


def fixed_binary(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> pa.FixedSizeBinaryArray:
    """Return a `V<n>` array as Arrow binary of width n, null where not valid."""
    mask = None if valid is None or valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    data = pa.py_buffer(np.ascontiguousarray(values).view(np.uint8))
    return pa.Array.from_buffers(pa.binary(values.dtype.itemsize), len(values), [mask, data])


def joined(columns: list[pa.Array]) -> pa.BinaryArray:
    """Concatenate binary columns row by row. Null counts as empty."""
    return pc.binary_join_element_wise(*columns, b"", null_handling="replace", null_replacement=b"")


def row_lengths(array: pa.Array) -> NDArray[np.int64]:
    """Return the length of each row of a binary or text array in bytes, 0 for null."""
    lengths: NDArray[Any] = pc.binary_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    return lengths.astype(np.int64)
