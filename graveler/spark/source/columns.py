"""Columns of each relation as Spark types, and the conversion from graveler's tables, column by column.

A read may request some of the columns by its own schema. Other columns are not converted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import pyarrow as pa
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

from graveler_core.errors import InvalidInput
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
"""State of a path. `address_type` is inline, relative (to the storage namespace) or full."""
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
"""`kind` is added, changed or removed; `before` is null if the path was added, `after` if it was removed."""
CHANGES = StructType([StructField("commit_id", _TEXT), *DIFF.fields])
"""Columns of a stream: the last commit of a batch, and the changes since the previous batch."""
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
TAGS = _struct(
    {
        "name": _TEXT,
        "commit_id": _TEXT,
        "message": _TEXT,
        "signature": _TEXT,
        "tagger": _TEXT,
        "metadata": _TEXTS,
        "creation_date": _TIME,
        "target": _TEXT,
        "tree": _TEXT,
        "tagged": _TEXT,
    }
)
"""`creation_date` is null for tags whose records do not contain it. `target` is commit, tag or tree; `tree` is the id
of the tree to which the tag leads, or empty; `tagged` is the name of the tag that it names, or null.
"""
_KEYS = {"path": "key"}
_ADDRESS_TYPES = pa.array([kind.name.lower() for kind in AddressType])


def wanted(known: StructType, schema: StructType) -> pa.Schema:
    """Return the requested columns as an Arrow schema.

    Raises:
        InvalidInput: The relation does not have the column, or has it with another type.
    """
    for field in schema.fields:
        if field.name not in known.names:
            raise InvalidInput(f"column {field.name!r}: is unknown; the known columns are {', '.join(known.names)}")
        if field.dataType != known[field.name].dataType:
            kind = known[field.name].dataType.simpleString()
            raise InvalidInput(f"column {field.name!r}: must be {kind}, but is {field.dataType.simpleString()}")
    arrow: pa.Schema = to_arrow_schema(schema, timezone="UTC")
    return arrow


def entry_batch(entries: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Convert entries in `ENTRY_SCHEMA` to columns of `ENTRIES`."""
    return _batch(schema, lambda field: _column(entries.column(_KEYS.get(field.name, field.name)), field))


def change_batch(changes: pa.RecordBatch, schema: pa.Schema, commit: str = "") -> pa.RecordBatch:
    """Convert changes in `CHANGE_SCHEMA` to columns of `DIFF` or `CHANGES`."""
    made: dict[str, Callable[[pa.Field], pa.Array]] = {
        "commit_id": lambda field: pa.repeat(commit, changes.num_rows),
        "path": lambda field: changes.column("key").cast(field.type),
        "kind": lambda field: changes.column("kind"),
        "before": lambda field: _state(changes.column("before"), field),
        "after": lambda field: _state(changes.column("after"), field),
    }
    return _batch(schema, lambda field: made[field.name](field))


def row_batches(columns: Mapping[str, list[object]], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Convert the values of small relations, given by column, to batches."""
    made = _batch(schema, lambda field: pa.array(columns[field.name], field.type))
    return iter([made] if made.num_rows else [])


def _batch(schema: pa.Schema, column: Callable[[pa.Field], pa.Array]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([column(field) for field in schema], schema=schema)


def _column(column: pa.Array, field: pa.Field) -> pa.Array:
    return _ADDRESS_TYPES.take(column) if field.name == "address_type" else column.cast(field.type)


def _state(states: pa.StructArray, field: pa.Field) -> pa.StructArray:
    inner = [field.type.field(n) for n in range(field.type.num_fields)]
    arrays = [_column(states.field(each.name), each) for each in inner]
    return pa.StructArray.from_arrays(arrays, fields=inner, mask=states.is_null())
