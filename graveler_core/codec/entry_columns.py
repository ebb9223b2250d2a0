"""Conversion of a user's columns to the schema: names, types, order of rows. `entry_rules` checks the values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.columns import SLICE_ROWS
from graveler_core.codec.record_format import too_large
from graveler_core.codec.row_name import row_path
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entry import ENTRY_SCHEMA, MAX_RECORD_BYTES, RECORD_SCHEMA, REMOVED, TOMBSTONE

_WIDE = {pa.binary(): pa.large_binary(), pa.string(): pa.large_string()}
_MUCH = 1 << 30


def conformed(table: pa.Table) -> pa.Table:
    """Return the table with all columns of `RECORD_SCHEMA` in its types (metadata unchanged), null where not given.

    Rows with a true `removed` become tombstones.

    Raises:
        InvalidInput: Unknown, missing or duplicated columns; a column that does not cast; invalid text; a null key.
    """
    if not isinstance(table, pa.Table | pa.RecordBatch):
        raise InvalidInput(f"{type(table).__name__}: entries must be given as an Arrow table")
    names = table.schema.names
    unknown = sorted(set(names) - {*ENTRY_SCHEMA.names, REMOVED})
    if unknown:
        raise InvalidInput(f"columns {', '.join(map(repr, unknown))}: are not columns of an entry")
    doubled = sorted({name for name in names if names.count(name) > 1})
    if doubled:
        raise InvalidInput(f"columns {', '.join(map(repr, doubled))}: are duplicated")
    if "key" not in names:
        raise InvalidInput("column 'key': is missing")
    if table.column("key").null_count:
        raise InvalidInput("column 'key': must not contain nulls", kind=Kind.InvalidPath)
    asked = {field: REMOVED if field.name == TOMBSTONE else field.name for field in RECORD_SCHEMA}
    given = set(names) - {"identity"}
    columns = [
        _cast(table.column(name), field.with_name(name)) if name in given else _absent(field.name, table.num_rows)
        for field, name in asked.items()
    ]
    return pa.Table.from_arrays(columns, names=RECORD_SCHEMA.names)


def sorted_by_key(table: pa.Table) -> pa.Table:
    """Return the rows in the byte order of their keys.

    Raises:
        InvalidInput: A key occurs twice.
    """
    keys = table.column("key")
    if not _all(pc.less(keys[:-1], keys[1:])):
        table = _taken(table, pc.sort_indices(keys))
        keys = table.column("key")
        doubled = pc.equal(keys[:-1], keys[1:])
        if _any(doubled):
            first = int(np.flatnonzero(doubled.to_numpy(zero_copy_only=False))[0])
            raise there_twice(row_path(keys, first))
    return table


def tombstones(keys: pa.BinaryArray) -> pa.RecordBatch:
    known = {"key": keys, TOMBSTONE: pa.repeat(True, len(keys))}
    columns = [known[name] if name in known else _nulls(name, len(keys)) for name in RECORD_SCHEMA.names]
    return pa.RecordBatch.from_arrays(columns, schema=RECORD_SCHEMA)


def _nulls(name: str, rows: int) -> pa.Array:
    """Return nulls for a column. Up to `SLICE_ROWS` of them share their memory with all others, because new memory
    costs more than the other columns of a tombstone.
    """
    return (
        pa.nulls(rows, RECORD_SCHEMA.field(name).type)
        if rows > SLICE_ROWS
        else _shared(name, SLICE_ROWS).slice(0, rows)
    )


@cache
def _shared(name: str, rows: int) -> pa.Array:
    return pa.nulls(rows, RECORD_SCHEMA.field(name).type)


def _absent(name: str, rows: int) -> pa.ChunkedArray:
    """Return the column of values that were not given."""
    parts = [_nulls(name, min(SLICE_ROWS, rows - start)) for start in range(0, rows, SLICE_ROWS)]
    return pa.chunked_array(parts, RECORD_SCHEMA.field(name).type)


def there_twice(path: str) -> InvalidInput:
    """Return the error for a path with several rows."""
    return InvalidInput(f"path {path!r}: occurs more than once", kind=Kind.InvalidPath, path=path)


def _taken(table: pa.Table, order: pa.Array) -> pa.Table:
    """Return the rows in the given order."""
    if table.nbytes < _MUCH:
        return table.combine_chunks().take(order)
    return _much_taken(table, order)


def _much_taken(table: pa.Table, order: pa.Array) -> pa.Table:
    """Return the rows in the given order. Works in slices with wide offsets, for columns of more than 2 GiB."""
    names = [field.name for field in table.schema if field.type in _WIDE]
    large = [name for name in names if (pc.max(pc.binary_length(table.column(name))).as_py() or 0) > MAX_RECORD_BYTES]
    if large:
        lengths = pc.binary_length(table.column(large[0]))
        row = pc.index(pc.greater(lengths, MAX_RECORD_BYTES), True).as_py()
        raise too_large(f"entry {row_path(table.column('key'), row)!r}", lengths[row].as_py())
    wide = pa.schema([field.with_type(_WIDE.get(field.type, field.type)) for field in table.schema])
    rows = table.cast(wide).combine_chunks()
    taken = [rows.take(order[at : at + SLICE_ROWS]).cast(table.schema) for at in range(0, len(order), SLICE_ROWS)]
    return pa.concat_tables(taken)


def _cast(column: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
    """Convert one column to its type in the schema."""
    try:
        if isinstance(column.type, pa.BaseExtensionType):
            column = pa.chunked_array([chunk.storage for chunk in column.chunks], column.type.storage_type)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if pa.types.is_map(field.type):
            return column
        if pa.types.is_timestamp(field.type):
            column = _time(column, field.type)
        column = column.cast(field.type)
        column.validate(full=True)
    except pa.ArrowException as e:
        raise InvalidInput(f"column {field.name!r}: {column.type} cannot be converted to {field.type}: {e}") from e
    return column


def _time(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    """Convert times to microseconds in UTC. Nanoseconds are truncated."""
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        return column.cast(options=pc.CastOptions(target_type=kind, allow_time_truncate=True))
    return column


def _all(mask: Any) -> bool:
    return bool(pc.all(mask, min_count=0).as_py())


def _any(mask: Any) -> bool:
    return bool(pc.any(mask, min_count=0).as_py())
