"""The staged record: the value that a staging token keeps for a key in the key-value store. Format version 1.

    entry      version u8 · flags u8 · address_type i8 · payload i16 · size i64 · mtime i64 (µs since 1970, UTC) ·
               identity 32 bytes · 5 lengths u32 · content_id (16 bytes or none) · address · checksum · content_type ·
               metadata (canonical) · data
    tombstone  version u8 · flags u8 = 1

All numbers are little-endian. Flags: 1 tombstone, 2 mtime, then content_id, address, checksum, content_type, metadata,
data, each set where the field is not null. There is one encoding of an entry, and the decoder accepts no other.

The fields of all rows lie end to end in one Arrow buffer, so decoding cuts all of them with one offsets array and takes
each column out of it; no row is touched by Python. The small path gives the same bytes.
"""

from __future__ import annotations

import struct
import uuid
from datetime import timedelta
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
from graveler_core.codec.identity import identity
from graveler_core.codec.metadata_map import decode_map, decode_maps, first_invalid_text
from graveler_core.codec.record_format import (
    ADDRESS_TYPES,
    EPOCH,
    HAS_MTIME,
    HEADER,
    HEADER_DTYPE,
    IS_TOMBSTONE,
    MAX_MTIME,
    MIN_MTIME,
    TOMBSTONE_VALUE,
    VERSION,
    malformed,
    microseconds,
    out_of_range,
    too_large,
    unknown_version,
)
from graveler_core.codec.row_name import entry_name, row_path
from graveler_core.codec.tail import (
    CONTENT_ID_BYTES,
    TAIL,
    TailValues,
    present_bit,
    present_bits,
    present_flags,
    tail_columns,
    tail_lengths,
    tail_values,
)
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import MAX_RECORD_BYTES, RECORD_SCHEMA, TOMBSTONE, Entry


def encode_tombstone() -> bytes:
    """The record that says that a key is removed."""
    return TOMBSTONE_VALUE


def encode_entry(entry: Entry, known: TailValues | None = None) -> bytes:
    """The record of one entry; its identity is computed where it is not given.

    Args:
        known: Its tail fields, where somebody has made them already.

    Raises:
        InvalidInput: a number or time is out of range, a text is no valid Unicode.
        LimitExceeded: the record is larger than 72 KiB.
    """
    name = f"entry {entry.path!r}"
    values = known or tail_values(entry, name)
    fields = [value or b"" for value in values.values()]
    flags = present_flags(values) | (0 if entry.mtime is None else HAS_MTIME)
    mtime = microseconds(entry.mtime, name)
    own = entry.identity or identity(entry, values)
    try:
        lengths = map(len, fields[1:])
        header = HEADER.pack(VERSION, flags, entry.address_type, entry.payload, entry.size, mtime, own, *lengths)
    except struct.error as e:
        raise out_of_range(name) from e
    if entry.size < 0 or not 0 <= entry.address_type < len(ADDRESS_TYPES):
        raise out_of_range(name)
    record = header + b"".join(fields)
    if len(record) > MAX_RECORD_BYTES:
        raise too_large(name, len(record))
    return record


def decode_record(path: str, value: bytes) -> Entry | None:
    """Read the record of a path; None is a tombstone.

    Raises:
        CorruptData: the value is no record that `encode_entry` or `encode_tombstone` gives, or of an unknown version.
    """
    if value == TOMBSTONE_VALUE:
        return None
    if value and value[0] != VERSION:
        raise unknown_version(path, value[0])
    if not HEADER.size <= len(value) <= MAX_RECORD_BYTES:
        raise malformed(path)
    _, flags, address_type, payload, size, mtime, own, *measured = HEADER.unpack_from(value)
    in_range = MIN_MTIME <= mtime <= MAX_MTIME if flags & HAS_MTIME else mtime == 0
    if flags & IS_TOMBSTONE or size < 0 or not 0 <= address_type < len(ADDRESS_TYPES) or not in_range:
        raise malformed(path)
    fields = _cut(path, value, flags, measured)
    content_id = fields["content_id"]
    return Entry(
        address=_text(path, fields["address"]),
        size=size,
        checksum=_text(path, fields["checksum"]),
        mtime=EPOCH + timedelta(microseconds=mtime) if flags & HAS_MTIME else None,
        content_type=_text(path, fields["content_type"]),
        metadata=decode_map(fields["metadata"] or b"", f"staged record of {path!r}"),
        data=fields["data"],
        payload=payload,
        content_id=None if content_id is None else uuid.UUID(bytes=content_id),
        address_type=ADDRESS_TYPES[address_type],
        path=path,
        identity=own,
    )


def encode_records(table: pa.Table | pa.RecordBatch) -> pa.ChunkedArray:
    """The records of the rows of a table in `RECORD_SCHEMA`, as binary values in chunks of any length.

    What stands in the other columns of a tombstone is not looked at.

    Raises:
        InvalidInput: an entry without identity, address type, size or payload; a number out of range; metadata with a
            key twice.
        LimitExceeded: a record is larger than 72 KiB; the message names its path.
    """
    return pa.chunked_array([_encode(batch) for batch in slices(table)], type=pa.binary())


def decode_records(keys: pa.Array | pa.ChunkedArray, values: pa.Array | pa.ChunkedArray) -> pa.Table:
    """Read records into a table in `RECORD_SCHEMA`, in the order given, in chunks of any length.

    Raises:
        CorruptData: a value is no record that `encode_records` gives; the message names its key.
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
        return _tombstones(keys)
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


def _tombstones(keys: pa.Array) -> pa.RecordBatch:
    columns = {field.name: pa.nulls(len(keys), field.type) for field in RECORD_SCHEMA}
    columns |= {"key": keys, TOMBSTONE: pa.array(np.ones(len(keys), np.bool_))}
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORD_SCHEMA.names], schema=RECORD_SCHEMA)


def _headers(
    keys: pa.Array, bounds: NDArray[np.int64], data: NDArray[np.uint8]
) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The header of each row, zero after the flags for a tombstone, and which rows are entries."""
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
    """Rows whose numbers no entry has."""
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


def _cut(path: str, value: bytes, flags: int, measured: list[int]) -> dict[str, bytes | None]:
    """The tail fields of one record."""
    lengths = [CONTENT_ID_BYTES if flags & present_bit("content_id") else 0, *measured]
    fields: dict[str, bytes | None] = {}
    at = HEADER.size
    for field, length in zip(TAIL, lengths, strict=True):
        present = flags & present_bit(field)
        if length and not present:
            raise malformed(path)
        fields[field] = value[at : at + length] if present else None
        at += length
    if at != len(value) or fields["metadata"] == b"":
        raise malformed(path)
    return fields


def _text(path: str, value: bytes | None) -> str | None:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError as e:
        raise malformed(path) from e


def _refuse(keys: pa.Array, bad: NDArray[np.bool_]) -> None:
    rows = np.flatnonzero(bad)
    if len(rows):
        raise malformed(row_path(keys, int(rows[0])))
