"""Reads of many rows of a SQLite file as columns. SQLite concatenates many rows into one row of the result.

For each row of a result, the driver creates Python objects, and releases and takes the GIL. Concatenated rows need this
only once for hundreds of rows, so that other threads can run. With rows of 250 bytes, a scan next to two busy threads
takes two thirds of the time.

SQLite concatenates bytes like text, without looking at zeros or invalid UTF-8. If a version of SQLite changed any
bytes, the sum of the lengths would differ from the size of the result, and `CorruptData` would be raised.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.errors import CorruptData
from graveler_core.kv.columns import ROW_SCHEMA
from graveler_core.kv.paging import PAGE_BYTES, KeyBounds

_JOINED: Final = (
    "SELECT CAST(group_concat(key, '') AS BLOB), CAST(group_concat(value, '') AS BLOB),"
    " group_concat(length(key)), group_concat(length(value)), max(key)"
    " FROM (SELECT key, value FROM kv WHERE partition=? AND key>=?{} ORDER BY key LIMIT ?)"
)
_FROM: Final = _JOINED.format("")
_WITHIN: Final = _JOINED.format(" AND key<?")
_FIRST_ROWS: Final = 50
"""Number of rows of the first statement of a page. Later statements use the mean size of the rows read so far."""
_JOINED_ROWS: Final = 1_000
"""Maximum number of rows of one statement."""


@dataclass(frozen=True, slots=True)
class ColumnPage:
    """Rows in key order."""

    batch: pa.RecordBatch
    """The rows, in `ROW_SCHEMA`."""
    last_key: bytes
    """Key of the last row."""
    last: bool
    """True if the page reaches the end of the requested key range."""


def read_columns(connection: sqlite3.Connection, partition: bytes, keys: KeyBounds, rows: int) -> ColumnPage:
    """Read at most `rows` rows from the beginning of a key range, or fewer if they reach `PAGE_BYTES`."""
    parts: list[tuple[bytes, bytes]] = []
    lengths: list[tuple[NDArray[np.int32], NDArray[np.int32]]] = []
    found, size, last_key = 0, 0, b""
    while found < rows and size < PAGE_BYTES:
        likely = (PAGE_BYTES - size) * found // size + 1 if size else _FIRST_ROWS
        wanted = min(likely, rows - found, _JOINED_ROWS)
        left = keys.after(last_key) if found else keys
        bounds = (left.lower,) if left.upper is None else (left.lower, left.upper)
        statement = _FROM if left.upper is None else _WITHIN
        [row] = connection.execute(statement, (partition, *bounds, wanted)).fetchall()
        if row[0] is None:
            return _page(parts, lengths, last_key, last=True)
        parts.append(row[:2])
        lengths.append((_numbers(row[2]), _numbers(row[3])))
        last_key = row[4]
        count = len(lengths[-1][0])
        found, size = found + count, size + len(row[1])
        if count < wanted:
            return _page(parts, lengths, last_key, last=True)
    return _page(parts, lengths, last_key, last=False)


def _page(
    parts: list[tuple[bytes, bytes]],
    lengths: list[tuple[NDArray[np.int32], NDArray[np.int32]]],
    last_key: bytes,
    *,
    last: bool,
) -> ColumnPage:
    columns = [
        _column(b"".join(part[column] for part in parts), np.concatenate([one[column] for one in lengths] or [_NONE]))
        for column in range(2)
    ]
    return ColumnPage(pa.record_batch(columns, schema=ROW_SCHEMA), last_key, last)


_NONE: Final = np.zeros(0, np.int32)


def _numbers(joined: str) -> NDArray[np.int32]:
    return np.fromstring(joined, dtype=np.int32, sep=",")


def _column(data: bytes, lengths: NDArray[np.int32]) -> pa.Array:
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    if offsets[-1] != len(data):
        raise CorruptData(f"SQLite {sqlite3.sqlite_version} joined {offsets[-1]} bytes to {len(data)}")
    return pa.Array.from_buffers(pa.binary(), len(lengths), [None, pa.py_buffer(offsets), pa.py_buffer(data)])
