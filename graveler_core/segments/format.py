"""Segments as Parquet files. Every engine can read them, and reading returns exactly the written table.

The files contain nothing about the writing machine. Two writers may still create different bytes for equal rows, so
ids are hashes of the rows (`codec.content_hash`), never of the file. Pages have checksums; a damaged file raises
`CorruptData`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graveler_core.errors import CorruptData, Kind

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
        raise ValueError(f"its row groups do not have {footer.num_rows} rows")
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
def _corrupt(name: str) -> Iterator[None]:
    try:
        yield
    except _FAILURES as e:
        why = str(e).splitlines()[0] if str(e) else type(e).__name__
        raise CorruptData(f"segment {name}: cannot be read: {why}", kind=Kind.CorruptRange, address=name) from e
