"""Binary search in sorted tables: rows from a key, up to a key, of a key. O(log rows), without decoding the column."""

from __future__ import annotations

import pyarrow as pa


def first_at(table: pa.Table, key: bytes) -> int:
    """The index of the first row whose key is `key` or greater; the number of rows if there is none."""
    return _first(table, key, after=False)


def first_after(table: pa.Table, key: bytes) -> int:
    """The index of the first row whose key is greater than `key`; the number of rows if there is none."""
    return _first(table, key, after=True)


def row_of(table: pa.Table, key: bytes) -> int | None:
    """The index of the row of `key`, or None."""
    row = first_at(table, key)
    return row if row < table.num_rows and table["key"][row].as_py() == key else None


def between(table: pa.Table, start: bytes, end: bytes | None) -> pa.Table:
    """The rows from `start` to before `end` (None: to the last), without copying."""
    low = first_at(table, start) if start else 0
    high = table.num_rows if end is None else first_at(table, end)
    return table.slice(low, max(0, high - low))


def _first(table: pa.Table, key: bytes, *, after: bool) -> int:
    keys = table["key"]
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        found = keys[middle].as_py()
        if found < key or (after and found == key):
            low = middle + 1
        else:
            high = middle
    return low
