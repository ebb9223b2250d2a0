"""Segments as Parquet files. Every engine can read them, and reading returns exactly the written table.

The files contain nothing about the writing machine. Two writers may still create different bytes for equal rows, so
ids are hashes of the rows (`codec.content_hash`), never of the file. Pages have checksums; a damaged file raises
`CorruptData`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from graveler_core.errors import CorruptData, Kind
from graveler_core.model.counting import counted

_LONGEST_LIST = 1_000_000
"""Maximum number of elements of a list in a footer: pyarrow's own limit."""
_ENCODINGS = {
    "key": "DELTA_BYTE_ARRAY",
    "size": "DELTA_BINARY_PACKED",
    "mtime": "DELTA_BINARY_PACKED",
    "payload": "DELTA_BINARY_PACKED",
    "address_type": "DELTA_BINARY_PACKED",
}
_FAILURES = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)
"""Exceptions that pyarrow raises for damaged files. They were found by tests with damaged files."""


def encode(table: pa.Table, *, row_group_rows: int = 1 << 20) -> memoryview:
    """Return the file of a table in `ENTRY_SCHEMA` or `RECORD_SCHEMA`. Entries need about 33 bytes in addition to
    random texts.
    """
    sink = pa.BufferOutputStream()
    pq.write_table(
        table,
        sink,
        row_group_size=row_group_rows,
        compression="zstd",
        use_dictionary=["content_type"],
        column_encoding=_ENCODINGS,
        write_statistics=["key"],
        write_page_checksum=True,
        store_schema=False,
    )
    return memoryview(sink.getvalue()).cast("B")


def decode(data: Any, schema: pa.Schema, name: str, columns: Sequence[str] | None = None) -> pa.Table:
    """Return the table in a file, in one chunk.

    Args:
        data: The file: bytes or any buffer.
        schema: Schema that the file must have. Additional columns are an error.
        name: Name of the object in errors: its address.
        columns: Names of the columns to read, in the order of the schema. The others are not read. `None` means all.

    Raises:
        CorruptData: The file is not Parquet or is damaged, has other columns, or has nulls where the schema allows
            none.
    """
    with _corrupt(name):
        file = _open(data)
        if columns is None:
            return _conformed(file.read(use_threads=False), schema)
        _require_columns(file.schema_arrow, schema)
        return _conformed(file.read(columns=list(columns), use_threads=False), pa.schema(map(schema.field, columns)))


def decode_parts(data: Any, schema: pa.Schema, name: str, columns: Sequence[str] | None = None) -> Iterator[pa.Table]:
    """Yield the table in a file, part (row group) by part, each in one chunk. Arguments are the same as for `decode`.

    Raises:
        CorruptData: As for `decode`.
        MemoryError: There is too little memory for a part. Damage may cause this, too.
    """
    chosen = pa.schema(map(schema.field, schema.names if columns is None else columns))
    with _corrupt(name, memory=False):
        file = _open(data)
        _require_columns(file.schema_arrow, schema)
    for number in range(file.num_row_groups):
        with _corrupt(name, memory=False):
            part = _conformed(file.read_row_group(number, columns=chosen.names, use_threads=False), chosen)
        yield part


class Parts(NamedTuple):
    """Bounds of the parts (row groups) of a sorted file, according to its footer, which has no checksum."""

    first_key: bytes
    last_keys: list[bytes]
    """Last key of each part, in order."""
    rows: int
    """Number of rows of all parts."""


class PartedFile:
    """Sorted file whose parts are decoded one by one.

    Args:
        data: The file: bytes or any buffer.
        schema: Schema that the file must have. Its first column is `key`.
        name: Name of the object in errors: its address.

    Raises:
        CorruptData: The file is not Parquet, its footer is damaged, or it has other columns.
    """

    def __init__(self, data: Any, schema: pa.Schema, name: str) -> None:
        self._schema = schema
        self._name = name
        with _corrupt(name):
            self._file = _open(data)
            _require_columns(self._file.schema_arrow, schema)

    def parts(self) -> Parts | None:
        """Return the bounds of the parts, or `None` if there is one part, or the footer does not state the bounds."""
        footer = self._file.metadata
        keys = [footer.row_group(number).column(0).statistics for number in range(footer.num_row_groups)]
        if len(keys) == 1 or not all(each is not None and each.has_min_max for each in keys):
            return None
        return Parts(keys[0].min, [each.max for each in keys], footer.num_rows)

    def decode(self, part: int, columns: Sequence[str]) -> pa.Table:
        """Return columns of one part, in one chunk.

        Raises:
            CorruptData: The part is damaged, or has nulls where the schema allows none.
        """
        with _corrupt(self._name):
            found = self._file.read_row_group(part, columns=list(columns), use_threads=False)
            return _conformed(found, pa.schema(map(self._schema.field, columns)))


def _open(data: Any) -> pq.ParquetFile:
    """Open a file, after checking that its footer is plausible: pyarrow allocates what a footer says before it reads a
    page.
    """
    source = pa.py_buffer(data)
    # An element takes at least one byte, so no list has more elements than the file has bytes.
    longest = max(1, min(source.size, _LONGEST_LIST))
    file = pq.ParquetFile(pa.BufferReader(source), page_checksum_verification=True, thrift_container_size_limit=longest)
    footer = file.metadata
    if footer.num_rows != sum(footer.row_group(group).num_rows for group in range(footer.num_row_groups)):
        raise ValueError(f"its row groups do not have {counted(footer.num_rows, 'row')}")
    return file


def _conformed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    _require_columns(table.schema, schema)
    whole = table.cast(schema).combine_chunks()
    for field in schema:
        if not field.nullable and whole.column(field.name).null_count:
            raise ValueError(f"column {field.name} has nulls")
    whole.validate()
    return whole


def _require_columns(found: pa.Schema, schema: pa.Schema) -> None:
    if found.names != schema.names:
        raise ValueError(f"columns are {', '.join(found.names)}")


@contextmanager
def _corrupt(name: str, *, memory: bool = True) -> Iterator[None]:
    """Convert errors of damaged files. `memory` is `False` to leave `MemoryError` as it is."""
    try:
        yield
    except _FAILURES as e:
        if isinstance(e, MemoryError) and not memory:
            raise
        why = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise CorruptData(f"segment {name}: cannot be read: {why}", kind=Kind.CorruptRange, address=name) from e
