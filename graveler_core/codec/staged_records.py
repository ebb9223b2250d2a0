"""Staged records as columns: the functions of `staged_record` for all rows of a table, with the same bytes.

The fields of all rows are concatenated in one Arrow buffer. Decoding splits them with one array of offsets and selects
the columns from it, without Python code for each row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.codec.columns import (
    fixed_binary,
    fixed_rows,
    gather,
    joined,
    pieces,
    slices,
    spans,
    validity,
    with_nulls,
)
from graveler_core.codec.entry_columns import tombstones
from graveler_core.codec.metadata_map import decode_maps, first_invalid_text
from graveler_core.codec.record_format import (
    ADDRESS_TYPES,
    HAS_MTIME,
    HEADER,
    HEADER_DTYPE,
    IS_TOMBSTONE,
    MAX_MTIME,
    MIN_MTIME,
    TOMBSTONE_VALUE,
    VERSION,
    malformed,
    out_of_range,
    too_large,
    unknown_version,
)
from graveler_core.codec.row_name import entry_name, row_path
from graveler_core.codec.tail import (
    CONTENT_ID_BYTES,
    TAIL,
    present_bit,
    present_bits,
    tail_columns,
    tail_lengths,
)
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import MAX_RECORD_BYTES, RECORD_SCHEMA, TOMBSTONE


def encode_records(table: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    """Return the records of the rows of a table in `RECORD_SCHEMA`, as binary values in chunks of any length.

    The other columns of a tombstone are ignored.

    Raises:
        InvalidInput: An entry has no identity, address type, size or payload; a number is out of range; metadata has a
            duplicated key.
        LimitExceeded: A record is larger than 72 KiB; the message names its path.
    """
    return pa.chunked_array([_encode(batch) for batch in slices(table)], type=pa.binary())


def decode_records(keys: pa.Array | pa.ChunkedArray, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Decode records into a table in `RECORD_SCHEMA`, in the given order, in chunks of any length.

    Raises:
        CorruptData: A value is not a result of `encode_records`; the message names its key.
    """
    staged = pa.table({"key": keys, "value": values})
    return pa.Table.from_batches([_decode(batch) for batch in slices(staged)], schema=RECORD_SCHEMA)


def _encode(batch: pa.RecordBatch) -> pa.BinaryArray:
    removed = fixed_rows(batch.column(TOMBSTONE)).astype(np.bool_)
    if removed.all():
        return pa.array([TOMBSTONE_VALUE] * batch.num_rows, pa.binary())
    if removed.any():
        kept = _encode(batch.filter(pa.array(~removed)))
        return kept.take(pa.array(np.cumsum(~removed) - 1, mask=removed)).fill_null(TOMBSTONE_VALUE)
    columns = tail_columns(batch, lambda row: entry_name(batch, row))
    lengths = tail_lengths(columns)
    _checked_sizes(batch, lengths)
    header = np.zeros(batch.num_rows, dtype=HEADER_DTYPE)
    header["version"] = VERSION
    header["flags"] = present_bits(columns) | (validity(batch.column("mtime")) * np.uint8(HAS_MTIME))
    header["mtime"] = fixed_rows(batch.column("mtime"))
    header["lengths"] = lengths[:, 1:]
    for field in ("address_type", "payload", "size", "identity"):
        missing = np.flatnonzero(~validity(batch.column(field)))
        if len(missing):
            raise InvalidInput(f"{entry_name(batch, int(missing[0]))}: has no {field}")
        header[field] = fixed_rows(batch.column(field))
    strange = np.flatnonzero(_strange(header))
    if len(strange):
        raise out_of_range(entry_name(batch, int(strange[0])))
    head = fixed_binary(header.view(f"V{HEADER.size}")).cast(pa.binary())
    return joined([head, *(columns[field] for field in TAIL)])


def _decode(batch: pa.RecordBatch) -> pa.RecordBatch:
    keys = batch.column("key").cast(pa.binary())
    bounds, data = spans(batch.column("value"))
    header, live = _headers(keys, bounds, data)
    if not live.any():
        return tombstones(keys)
    present = {field: (header["flags"] & present_bit(field)) != 0 for field in TAIL}
    lengths = np.column_stack([present["content_id"] * CONTENT_ID_BYTES, header["lengths"].astype(np.int64)])
    absent = np.column_stack([~present[field] for field in TAIL])
    head = np.where(live, HEADER.size, len(TOMBSTONE_VALUE))
    bad = (head + lengths.sum(axis=1) != np.diff(bounds)) | (absent & (lengths > 0)).any(axis=1) | _strange(header)
    _refuse(keys, bad)
    cuts = np.empty((len(keys), 1 + len(TAIL)), dtype=np.int64)
    cuts[:, 0] = bounds[:-1]
    cuts[:, 1] = bounds[:-1] + head
    np.cumsum(lengths[:, :-1], axis=1, out=cuts[:, 2:])
    cuts[:, 2:] += cuts[:, 1:2]
    parts = pieces(data, np.append(cuts.ravel(), bounds[-1]))
    columns = {field: _column(keys, field, parts, present[field]) for field in TAIL}
    columns |= {field: pa.array(header[field], mask=~live) for field in ("address_type", "payload", "size")}
    columns["key"], columns["identity"] = keys, fixed_binary(header["identity"], live)
    mtime = pa.array(header["mtime"], mask=(header["flags"] & HAS_MTIME) == 0)
    columns["mtime"] = mtime.view(RECORD_SCHEMA.field("mtime").type)
    columns[TOMBSTONE] = pa.array(~live)
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORD_SCHEMA.names], schema=RECORD_SCHEMA)


def _headers(
    keys: pa.Array, bounds: NDArray[np.int64], data: NDArray[np.uint8]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the header of each row, zero after the flags for a tombstone, and a mask of the rows that are entries."""
    starts, sizes = bounds[:-1], np.diff(bounds)
    _refuse(keys, (sizes < len(TOMBSTONE_VALUE)) | (sizes > MAX_RECORD_BYTES))
    version = data[starts]
    unknown = np.flatnonzero(version != VERSION)
    if len(unknown):
        raise unknown_version(row_path(keys, int(unknown[0])), int(version[unknown[0]]))
    flags = data[starts + 1]
    live = (flags & IS_TOMBSTONE) == 0
    _refuse(keys, np.where(live, sizes < HEADER.size, (flags != IS_TOMBSTONE) | (sizes != len(TOMBSTONE_VALUE))))
    if live.all():
        return gather(data, starts, HEADER.size).view(HEADER_DTYPE), live
    header = np.zeros(len(keys), dtype=HEADER_DTYPE)
    header["flags"] = flags
    header[live] = gather(data, starts[live], HEADER.size).view(HEADER_DTYPE)
    return header, live


def _checked_sizes(batch: pa.RecordBatch, lengths: NDArray[np.int64]) -> None:
    sizes = HEADER.size + lengths.sum(axis=1)
    large = np.flatnonzero(sizes > MAX_RECORD_BYTES)
    if len(large):
        raise too_large(entry_name(batch, int(large[0])), int(sizes[large[0]]))


def _strange(header: NDArray[Any]) -> NDArray[np.bool_]:
    """Return a mask of rows with numbers that no entry has."""
    mtime, known = header["mtime"], (header["flags"] & HAS_MTIME) != 0
    bad_time = np.where(known, (mtime < MIN_MTIME) | (mtime > MAX_MTIME), mtime != 0)
    kind = header["address_type"]
    strange: NDArray[np.bool_] = bad_time | (header["size"] < 0) | (kind < 0) | (kind >= len(ADDRESS_TYPES))
    return strange


def _column(keys: pa.Array, field: str, parts: pa.BinaryArray, present: NDArray[np.bool_]) -> pa.Array:
    kind = RECORD_SCHEMA.field(field).type
    if not present.any():
        return pa.nulls(len(keys), kind)
    width = 1 + len(TAIL)
    which = np.arange(len(keys), dtype=np.int32) * np.int32(width) + np.int32(1 + TAIL.index(field))
    column = parts.take(pa.array(which))
    if field == "content_id":
        return with_nulls(column, pa.binary(), present).cast(kind)
    if field == "metadata":
        return decode_maps(
            with_nulls(column, pa.binary(), present), lambda row: f"staged record of {row_path(keys, row)!r}"
        )
    column = with_nulls(column, kind, present)
    if pa.types.is_string(kind):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid as e:
            raise malformed(row_path(keys, first_invalid_text(column.view(pa.binary())))) from e
    return column


def _refuse(keys: pa.Array, bad: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise malformed(row_path(keys, int(rows[0])))
