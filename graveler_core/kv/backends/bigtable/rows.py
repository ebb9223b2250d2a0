"""Rows of Bigtable: the cells of a row of the store, and the form of rows in an answer.

A row of the store is a row of the table with two cells in the family `g`. The cell `v` is the value, and the cell `h`
its SHA-256 hash, which conditions compare instead of the value. Every write sets both. They have the timestamp 0, so
that a write replaces them and leaves no older version.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

from google.cloud.bigtable_v2 import types

from graveler_core.errors import Kind, SlowDown

FAMILY: Final = "g"
VALUE: Final = b"v"
HASH: Final = b"h"

Cells = Mapping[bytes, bytes]
"""Value of each cell of a row, by its column."""


def value_set(value: bytes) -> list[Any]:
    """Return the mutations that set the value of a row, and with it the hash."""
    return cells_set({VALUE: value, HASH: sha256(value).digest()})


def cells_set(cells: Cells) -> list[Any]:
    """Return the mutations that set cells of a row."""
    cell = types.Mutation.SetCell.pb()
    return [
        types.Mutation.pb()(
            set_cell=cell(family_name=FAMILY, column_qualifier=column, timestamp_micros=0, value=value),
        )
        for column, value in cells.items()
    ]


def row_deleted() -> list[Any]:
    """Return the mutations that delete a row."""
    return [types.Mutation.pb()(delete_from_row=types.Mutation.DeleteFromRow.pb()())]


def column_filter(column: bytes, value: bytes | None = None) -> Any:
    """Return a filter that passes one column of a row.

    Args:
        column: The column.
        value: Value that the cell must have. Default: any.
    """
    make = types.RowFilter.pb()
    filters = [make(family_name_regex_filter=FAMILY), make(column_qualifier_regex_filter=column)]
    if value is not None:
        exact = types.ValueRange.pb()(start_value_closed=value, end_value_closed=value)
        filters.append(make(value_range_filter=exact))
    return make(chain=types.RowFilter.Chain.pb()(filters=filters))


def value_is(value: bytes) -> Any:
    """Return a filter that passes a cell of a row with this value."""
    return column_filter(HASH, sha256(value).digest())


def all_cells() -> Any:
    """Return a filter that passes all cells of a row."""
    return types.RowFilter.pb()(family_name_regex_filter=FAMILY)


def names_only() -> Any:
    """Return a filter that passes the value of a row, but not its bytes: for reads that need the names of rows."""
    make = types.RowFilter.pb()
    filters = [column_filter(VALUE), make(strip_value_transformer=True)]
    return make(chain=types.RowFilter.Chain.pb()(filters=filters))


def rows_of(answers: Iterable[Any], where: str) -> Iterator[tuple[bytes, Cells]]:
    """Yield the rows of a stream of answers, which has them in chunks.

    A chunk names row and column only if they differ from those of the chunk before. A large cell comes in several
    chunks, and the service may take back the chunks of a row that is not complete.

    Args:
        answers: The answers.
        where: URL of the table, for the message.

    Raises:
        SlowDown: The stream has ended within a row.
    """
    name, column = b"", b""
    cells: dict[bytes, bytes] = {}
    parts: list[bytes] = []
    for answer in answers:
        for chunk in types.ReadRowsResponse.pb(answer).chunks:
            if chunk.reset_row:
                name, cells, parts = b"", {}, []
                continue
            name = chunk.row_key or name
            column = chunk.qualifier.value if chunk.HasField("qualifier") else column
            parts.append(chunk.value)
            if not chunk.value_size:
                cells.setdefault(column, b"".join(parts))
                parts = []
            if chunk.commit_row:
                yield name, cells
                name, cells = b"", {}
    if name:
        raise SlowDown(f"an answer of {where} ends within a row", kind=Kind.StoreBusy, store=where)
