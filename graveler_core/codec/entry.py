"""Conversion between `Entry` values and rows of Arrow tables.

`normalise` (for a table) and `normalise_entry` (for one entry) are the only ways into the library. They check the
input, fill in defaults and compute the identity, with equal results.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import fields
from datetime import datetime, timedelta
from itertools import chain, repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import fixed_rows, row_lengths, slices, validity
from graveler_core.codec.entry_columns import conformed, sorted_by_key, tombstones
from graveler_core.codec.entry_rules import checked_addresses, checked_entry, checked_keys, checked_numbers
from graveler_core.codec.identity import identities, identity
from graveler_core.codec.metadata_map import decode_maps, encode_maps
from graveler_core.codec.record_format import (
    ADDRESS_TYPES,
    EPOCH,
    HEADER,
    TOMBSTONE_VALUE,
    microseconds,
    record_identity,
    too_large,
)
from graveler_core.codec.row_name import entry_name
from graveler_core.codec.staged_record import encode_entry
from graveler_core.codec.tail import CONTENT_ID_BYTES
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import ENTRY_SCHEMA, MAX_RECORD_BYTES, RECORD_SCHEMA, TOMBSTONE, AddressType, Entry

_FIELDS = tuple("key" if field.name == "path" else field.name for field in fields(Entry))
_TOMBSTONE = RECORD_SCHEMA.names.index(TOMBSTONE)
_SETTERS = tuple(getattr(Entry, field.name).__set__ for field in fields(Entry))


def normalise(table: pa.Table) -> pa.Table:
    """Convert a user's table to `RECORD_SCHEMA`, sorted by key.

    Args:
        table: A table with `key` (text or binary) and any columns of the entry schema, in any order. Each column may
            have any type that casts without loss, except that times lose their nanoseconds, and times without a zone
            are taken as UTC. A column `identity` is ignored; identities are computed. Defaults: the address type is
            RELATIVE, or INLINE if there is data and no address; the size is the length of the inline data, otherwise 0;
            the payload is 0; everything else is null. A row with a true `removed` is a tombstone; its other columns are
            ignored.

    Returns:
        The staged records.

    Raises:
        InvalidInput: Unknown, missing or duplicated columns; a column that does not cast; an invalid path or address; a
            duplicated key; a number out of range; metadata with nulls or a duplicated key. The message names the value.
        LimitExceeded: The record of an entry is larger than 72 KiB.
    """
    staged = sorted_by_key(conformed(table))
    return pa.Table.from_batches([_staged(batch) for batch in slices(staged)], schema=RECORD_SCHEMA)


def normalise_entry(path: str, entry: Entry) -> Entry:
    """Check one entry and return it with its path and identity. Gives the same results as `normalise`.

    Raises:
        InvalidInput: As for `normalise`; also for a time without a zone.
        LimitExceeded: As for `normalise`.
    """
    return normalise_record(path, entry)[0]


def normalise_record(path: str, entry: Entry) -> tuple[Entry, bytes]:
    """Check one entry as `normalise_entry` does, and return it with its staged record."""
    checked, values = checked_entry(path, entry)
    staged = changed_entry(checked, checked.content_id, identity(checked, values))
    return staged, encode_entry(staged, values)


def changed_entry(entry: Entry, content_id: uuid.UUID | None, own: bytes) -> Entry:
    """Return the entry with another content id and identity. `dataclasses.replace` takes twice as long."""
    texts = entry.address, entry.size, entry.checksum, entry.mtime, entry.content_type, entry.metadata
    return Entry(*texts, entry.data, entry.payload, content_id, entry.address_type, entry.path, own)


def record_table(entries: Sequence[tuple[bytes, Entry | None]]) -> pa.Table:
    """Return a table in `RECORD_SCHEMA` of keys and entries, in the given order. `None` is a tombstone. Use it for few
    rows.

    Identities are computed, and sizes checked, for entries without an identity.

    Raises:
        InvalidInput: A field has the wrong type, or a number is out of range.
        LimitExceeded: The record of an entry without an identity is larger than 72 KiB.
    """
    rows = [_row(key, entry) for key, entry in entries]
    try:
        columns = [pa.array([row[field.name] for row in rows], field.type) for field in RECORD_SCHEMA]
    except (pa.ArrowException, OverflowError, TypeError, UnicodeEncodeError) as e:
        raise InvalidInput(f"entries: a field does not fit the entry schema: {e}") from e
    return pa.Table.from_arrays(columns, schema=RECORD_SCHEMA)


def tombstone_table(keys: Sequence[bytes]) -> pa.Table:
    """Return a table in `RECORD_SCHEMA` that removes the keys, in the given order."""
    return pa.Table.from_batches([tombstones(pa.array(keys, RECORD_SCHEMA.field("key").type))])


def entry_from_row(columns: Sequence[pa.Array | pa.ChunkedArray], i: int) -> Entry:
    """Return the entry in row `i` of a table, given its columns, of which the first are those of `ENTRY_SCHEMA`. The
    row must not be a tombstone.

    A caller that reads many rows keeps the columns: getting them from the table takes longer than reading a row.
    """
    cells = [column[i] for column in columns[: len(ENTRY_SCHEMA)]]
    key, own, address, kind, size, checksum, mtime, content_type, metadata, data, payload, content_id = cells
    since = mtime.value
    return Entry(
        address=address.as_py(),
        size=size.as_py(),
        checksum=checksum.as_py(),
        mtime=None if since is None else EPOCH + timedelta(0, 0, since),
        content_type=content_type.as_py(),
        metadata=dict(metadata.as_py() or ()),
        data=data.as_py(),
        payload=payload.as_py(),
        content_id=_uuid(content_id.as_py()),
        address_type=ADDRESS_TYPES[kind.as_py()],
        path=key.as_py().decode(),
        identity=own.as_py(),
    )


def record_from_row(columns: Sequence[pa.Array | pa.ChunkedArray], i: int) -> bytes:
    """Return the staged record in row `i` of a table, given its columns, which are those of `RECORD_SCHEMA`. For few
    rows: faster than `encode_records` for up to some dozens.
    """
    return TOMBSTONE_VALUE if columns[_TOMBSTONE][i].as_py() else encode_entry(entry_from_row(columns, i))


def entries(table: pa.Table | pa.RecordBatch) -> Iterator[Entry]:
    """Return the entries of a table with the columns of `ENTRY_SCHEMA`, in order, without tombstones. Lazy: 1,024 at
    once.
    """
    return chain.from_iterable(map(_made, slices(table, rows=1_024)))


def _made(batch: pa.RecordBatch) -> list[Entry]:
    if TOMBSTONE in batch.schema.names:
        batch = batch.filter(pc.invert(batch.column(TOMBSTONE)))
    made = list(map(object.__new__, repeat(Entry, batch.num_rows)))
    # Set field by field: the `__init__` of a frozen class takes more than twice as long for each entry.
    for setter, column in zip(_SETTERS, _columns(batch), strict=True):
        deque(map(setter, made, column), maxlen=0)
    return made


def _columns(batch: pa.RecordBatch) -> Iterator[Iterable[Any]]:
    """Yield the values of all rows, field by field, in the order of `Entry`."""
    of: dict[str, Callable[[pa.Array], Iterable[Any]]] = {
        "key": lambda cells: cells.cast(pa.string()).to_pylist(),
        "identity": lambda cells: fixed_rows(cells).tolist(),
        "mtime": _times,
        "metadata": lambda cells: [dict(pairs or ()) for pairs in cells.to_pylist()],
        "content_id": lambda cells: map(_uuid, cells.cast(pa.binary()).to_pylist()),
        "address_type": _kinds,
    }
    for name in _FIELDS:
        cells = batch.column(name)
        if cells.null_count < len(cells):
            yield of.get(name, pa.Array.to_pylist)(cells)
        else:
            yield [{} for _ in range(len(cells))] if name == "metadata" else repeat(None, len(cells))


def _times(cells: pa.Array) -> Iterable[datetime | None]:
    times = map(EPOCH.__add__, fixed_rows(cells).view("m8[us]").tolist())
    if cells.null_count == 0:
        return times
    known = list[datetime | None](times)
    for row in np.flatnonzero(~validity(cells)).tolist():
        known[row] = None
    return known


def _kinds(cells: pa.Array) -> Iterable[AddressType]:
    numbers = fixed_rows(cells)
    if (numbers == numbers[0]).all():
        return repeat(ADDRESS_TYPES[numbers[0]], len(cells))
    return map(ADDRESS_TYPES.__getitem__, numbers.tolist())


def _staged(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Check and complete one slice of a conformed table. Of removed rows, only the key counts."""
    removed = fixed_rows(batch.column(TOMBSTONE)).astype(np.bool_)
    if not removed.any():
        return _normal(batch)
    keys = batch.column("key").filter(pa.array(removed))
    checked_keys(keys)
    kept = batch.filter(pa.array(~removed))
    parts = [_normal(kept), tombstones(keys)] if kept.num_rows else [tombstones(keys)]
    stood = np.concatenate([np.flatnonzero(~removed), np.flatnonzero(removed)])
    return pa.Table.from_batches(parts).combine_chunks().take(pa.array(np.argsort(stood))).to_batches()[0]


def _normal(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Check and complete rows that are not removed."""
    checked_keys(batch.column("key"))
    columns = {name: batch.column(name) for name in RECORD_SCHEMA.names}
    blobs = encode_maps(columns["metadata"], lambda row: entry_name(batch, row))
    columns["metadata"] = decode_maps(blobs, lambda row: entry_name(batch, row))
    no_address, has_data = ~validity(columns["address"]), validity(columns["data"])
    kinds = np.where(validity(columns["address_type"]), fixed_rows(columns["address_type"]), AddressType.RELATIVE)
    kinds = np.where(no_address & has_data & (kinds == AddressType.RELATIVE), AddressType.INLINE, kinds)
    sizes, data_sizes = fixed_rows(columns["size"]), row_lengths(columns["data"])
    sizes = np.where((kinds == AddressType.INLINE) & (sizes == 0), data_sizes, sizes)
    columns["address_type"], columns["size"] = pa.array(kinds.astype(np.int8)), pa.array(sizes)
    columns["payload"] = columns["payload"].fill_null(0)
    columns[TOMBSTONE] = pa.array(np.zeros(batch.num_rows, dtype=np.bool_))
    complete = pa.RecordBatch.from_arrays([columns[name] for name in RECORD_SCHEMA.names], RECORD_SCHEMA.names)
    checked_numbers(complete)
    columns["address"] = checked_addresses(complete)
    complete = complete.set_column(complete.schema.get_field_index("address"), "address", columns["address"])
    _checked_size(complete, blobs)
    columns["identity"] = identities(complete)
    return pa.RecordBatch.from_arrays([columns[name] for name in RECORD_SCHEMA.names], schema=RECORD_SCHEMA)


def _checked_size(batch: pa.RecordBatch, blobs: pa.BinaryArray) -> None:
    texts = [batch.column(name) for name in ("address", "checksum", "content_type", "data")]
    sizes = HEADER.size + row_lengths(blobs) + sum(row_lengths(text) for text in texts)
    sizes += validity(batch.column("content_id")) * CONTENT_ID_BYTES
    large = np.flatnonzero(sizes > MAX_RECORD_BYTES)
    if len(large):
        raise too_large(entry_name(batch, int(large[0])), int(sizes[large[0]]))


def _row(key: bytes, entry: Entry | None) -> dict[str, Any]:
    if entry is None:
        return dict.fromkeys(RECORD_SCHEMA.names) | {"key": key, TOMBSTONE: True}
    return {
        "key": key,
        "identity": entry.identity or record_identity(encode_entry(entry)),
        "address": entry.address,
        "address_type": int(entry.address_type),
        "size": entry.size,
        "checksum": entry.checksum,
        "mtime": None if entry.mtime is None else microseconds(entry.mtime, f"entry {entry.path!r}"),
        "content_type": entry.content_type,
        "metadata": sorted(entry.metadata.items()) or None,
        "data": entry.data,
        "payload": entry.payload,
        "content_id": None if entry.content_id is None else entry.content_id.bytes,
        TOMBSTONE: False,
    }


def _uuid(content_id: bytes | None) -> uuid.UUID | None:
    return None if content_id is None else uuid.UUID(bytes=content_id)
