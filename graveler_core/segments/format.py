"""A segment as a Parquet file: any engine reads it as it is, and reading gives back exactly the table.

Nothing about the writing machine is kept. Two writers may still make different bytes of equal rows, so ids are hashes
of the rows (`codec.content_hash`), never of the file. Pages carry checksums; a file that is damaged is `CorruptData`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from graveler_core.errors import CorruptData, Kind

BATCH_ROWS = 65_536
_LONGEST_LIST = 1_000_000
"""Elements of a list in a footer: pyarrow's own limit."""
_ENCODINGS = {
    "key": "DELTA_BYTE_ARRAY",
    "size": "DELTA_BINARY_PACKED",
    "mtime": "DELTA_BINARY_PACKED",
    "payload": "DELTA_BINARY_PACKED",
    "address_type": "DELTA_BINARY_PACKED",
}
_FAILURES = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, OverflowError, MemoryError)
"""What pyarrow raises over damaged files, as found by damaging them."""


def encode(table: pa.Table, *, row_group_rows: int = 1 << 20) -> memoryview:
    """The file of a table in `ENTRY_SCHEMA` or `RECORD_SCHEMA`. About 33 bytes an entry beyond random texts."""
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
    """The table in a file, in one chunk.

    Args:
        data: The file: bytes or any buffer.
        schema: What it must hold; columns beyond it are an error.
        name: Names the object in errors: its address.
        columns: Those to read, in the order of the schema; the others are not looked at. None: all.

    Raises:
        CorruptData: not Parquet, damaged, other columns, or nulls where the schema has none.
    """
    with _corrupt(name):
        file = _open(data)
        if columns is None:
            return _conformed(file.read(use_threads=False), schema)
        _require_columns(file.schema_arrow, schema)
        return _conformed(file.read(columns=list(columns), use_threads=False), pa.schema(map(schema.field, columns)))


def decode_batches(data: Any, schema: pa.Schema, name: str, rows: int = BATCH_ROWS) -> Iterator[pa.Table]:
    """As `decode`, in tables of at most `rows`, of which only one is in memory."""
    with _corrupt(name):
        for batch in _open(data).iter_batches(batch_size=rows, use_threads=False):
            yield _conformed(pa.Table.from_batches([batch]), schema)


def _open(data: Any) -> pq.ParquetFile:
    """A file whose footer is plausible, as pyarrow makes room for what a footer says before it reads a page."""
    source = pa.py_buffer(data)
    # An element takes a byte at least, so no list has more of them than the file has bytes.
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
