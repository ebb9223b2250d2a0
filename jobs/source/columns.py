"""The columns of each relation, as Spark knows them, and how they come about from graveler's tables, column by column.

A read may ask for some of them, by a schema of its own; what it does not ask for is not converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from graveler_core.committed.diff import Differences
from graveler_core.errors import InvalidInput
from graveler_core.model.changes import ChangeKind
from graveler_core.model.entry import AddressType

_TEXT, _LONG, _TIME, _BYTES = StringType(), LongType(), TimestampType(), BinaryType()
_TEXTS = MapType(_TEXT, _TEXT)


def _struct(fields: Mapping[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in fields.items()])


STATE = _struct(
    {
        "size": _LONG,
        "checksum": _TEXT,
        "mtime": _TIME,
        "content_type": _TEXT,
        "metadata": _TEXTS,
        "address": _TEXT,
        "address_type": _TEXT,
        "identity": _BYTES,
    }
)
"""What a path holds. `address_type` is inline, relative (to the storage namespace) or full."""
ENTRIES = StructType(
    [
        StructField("path", _TEXT),
        *STATE.fields,
        StructField("data", _BYTES),
        StructField("payload", ShortType()),
        StructField("content_id", _BYTES),
    ]
)
DIFF = _struct({"path": _TEXT, "kind": _TEXT, "before": STATE, "after": STATE})
"""`kind` is added, changed or removed; `before` is null where the path was added, `after` where it was removed."""
CHANGES = StructType([StructField("commit_id", _TEXT), *DIFF.fields])
"""Of a stream: the commit that a batch ends with, and what changed since the batch before."""
LOG = _struct(
    {
        "commit_id": _TEXT,
        "parents": ArrayType(_TEXT),
        "message": _TEXT,
        "committer": _TEXT,
        "creation_date": _TIME,
        "generation": _LONG,
        "metadata": _TEXTS,
    }
)
BRANCHES = _struct({"name": _TEXT, "commit_id": _TEXT})
TAGS = _struct({"name": _TEXT, "commit_id": _TEXT, "message": _TEXT, "signature": _TEXT})
_KEYS = {"path": "key"}
_ADDRESS_TYPES = pa.array([kind.name.lower() for kind in AddressType])


def wanted(known: StructType, schema: StructType) -> pa.Schema:
    """The columns that a read asks for, as Arrow has them.

    Raises:
        InvalidInput: the relation has no such column, or of another type.
    """
    for field in schema.fields:
        if field.name not in known.names:
            raise InvalidInput(f"column {field.name!r}: unknown; known are {', '.join(known.names)}")
        if field.dataType != known[field.name].dataType:
            kind = known[field.name].dataType.simpleString()
            raise InvalidInput(f"column {field.name!r}: is {kind}, not {field.dataType.simpleString()}")
    arrow: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return arrow


def entry_batches(entries: pa.Table, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Entries in `ENTRY_SCHEMA` as batches of some columns of `ENTRIES`."""
    return _batches(schema, lambda field: _column(entries, field))


def difference_batches(found: Differences, schema: pa.Schema, commit: str = "") -> Iterator[pa.RecordBatch]:
    """Differences, all columns of both states, as batches of some columns of `DIFF`, or of `CHANGES`."""
    made: dict[str, Callable[[pa.Field], pa.Array]] = {
        "commit_id": lambda field: pa.repeat(commit, len(found)),
        "path": lambda field: found.keys.cast(field.type),
        "kind": lambda field: _kinds(found),
        "before": lambda field: _state(found.before, field),
        "after": lambda field: _state(found.after, field),
    }
    return _batches(schema, lambda field: made[field.name](field))


def row_batches(columns: Mapping[str, list[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Values of small relations, column by column, as batches."""
    return _batches(schema, lambda field: pa.array(columns[field.name], field.type))


def _batches(schema: pa.Schema, column: Callable[[pa.Field], pa.Array | pa.ChunkedArray]) -> Iterator[pa.RecordBatch]:
    return iter(pa.Table.from_arrays([column(field) for field in schema], schema=schema).to_batches())


def _column(entries: pa.Table, field: pa.Field) -> pa.ChunkedArray:
    column = entries.column(_KEYS.get(field.name, field.name))
    if field.name == "address_type":
        return _ADDRESS_TYPES.take(column.combine_chunks())
    return column.cast(field.type)


def _state(side: pa.Table, field: pa.Field) -> pa.Array:
    inner = [field.type.field(n) for n in range(field.type.num_fields)]
    arrays = [_whole(_column(side, each)) for each in inner]
    return pa.StructArray.from_arrays(arrays, fields=inner, mask=_whole(side.column("key").is_null()))


def _kinds(found: Differences) -> pa.Array:
    added, removed = (_whole(side.column("key").is_null()) for side in (found.before, found.after))
    return pc.if_else(added, ChangeKind.ADDED, pc.if_else(removed, ChangeKind.REMOVED, ChangeKind.CHANGED))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
