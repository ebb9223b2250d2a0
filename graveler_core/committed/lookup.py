"""Look up entries of a tree by key. One lookup reads one node per level and one range."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import lru_cache

import pyarrow as pa

from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import ALL, DECISIVE, Trees, glance, held, read_columns, read_node
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.merge import IDENTITY
from graveler_core.segments.sorted_keys import KEY, Keys, found_at, lower_bound

_KEY_COLUMN = ALL.index(KEY)
_ROWS_BYTES = 8_000
"""Memory of a table of a few rows, without its values and the key objects, in bytes."""


def lookup(trees: Trees, metarange: MetarangeId, key: bytes) -> tuple[list[pa.Array], int] | None:
    """Return the columns of the range that has an entry at a key, and the row of the entry, or `None`.

    If the key is absent, mostly no range is read.

    Raises:
        CorruptData: A node or range on the path is missing or damaged.
    """
    row = _range_at(trees, metarange, key)
    if row is None or key < row.min_key:
        return None
    columns = read_columns(trees, row)
    at = _position(columns[_KEY_COLUMN], key)
    return None if at is None else (columns, at)


def identity_of(trees: Trees, metarange: MetarangeId, key: bytes) -> bytes:
    """Return the identity of the entry at a key, or b"" if there is no entry. Raises as `lookup`."""
    row = _range_at(trees, metarange, key)
    if row is None or key < row.min_key:
        return b""
    entries = held(trees, row, DECISIVE)
    if entries is None:
        entries = _rows_at(trees, row, [key], DECISIVE)
    at = _position(entries.column(KEY), key)
    return b"" if at is None else entries.column(IDENTITY)[at].as_py()


def lookup_many(
    trees: Trees, metarange: MetarangeId, keys: Sequence[bytes], columns: tuple[str, ...] = ALL
) -> pa.Table:
    """Return the existing entries at the sorted `keys`, in order. Each range is read once.

    Args:
        trees: The repository's trees.
        metarange: The tree.
        keys: Sorted keys.
        columns: Columns to decode and return: `ALL` or `DECISIVE`.
    """
    found: list[pa.Table] = []
    start = 0
    while start < len(keys):
        row = _range_at(trees, metarange, keys[start])
        if row is None:
            break
        end = bisect_right(keys, row.max_key, start)
        first = bisect_left(keys, row.min_key, start, end)
        if first < end:
            found.append(_rows_at(trees, row, keys[first:end], columns))
        start = end
    if len(found) == 1:
        return found[0]
    return pa.concat_tables(found) if found else _nothing(columns)


@lru_cache(maxsize=2)
def _nothing(columns: tuple[str, ...]) -> pa.Table:
    return ENTRY_SCHEMA.empty_table().select(columns)


def _position(keys: Keys, key: bytes) -> int | None:
    """Return the position of a key in sorted keys, or `None`."""
    at = lower_bound(keys, key)
    return None if at == len(keys) or keys[at].as_py() != key else at


def _rows_at(trees: Trees, row: NodeRow, keys: Sequence[bytes], columns: tuple[str, ...]) -> pa.Table:
    """Return the entries of a range at some keys. If the range is not cached, cache these entries: flows often look up
    the same keys again.
    """
    entries = held(trees, row, columns)
    if entries is not None:
        return _taken(entries, keys)
    asked = (row.id, columns, tuple(keys))
    rows = trees.cache.get(asked)
    if rows is None:
        rows = _taken(glance(trees, row, columns), keys)
        trees.cache.put(asked, rows, rows.nbytes + sum(map(len, keys)) + _ROWS_BYTES)
    return rows


def _taken(entries: pa.Table, keys: Sequence[bytes]) -> pa.Table:
    return entries.take(pa.array(found_at(entries.column(KEY).chunk(0), keys)))


def _range_at(trees: Trees, metarange: MetarangeId, key: bytes) -> NodeRow | None:
    """Return the first range whose max key is ≥ `key`."""
    id: str = metarange
    while True:
        node = read_node(trees, id)
        index = bisect_left(node.max_keys, key)
        if index == len(node.rows):
            return None
        row = node.rows[index]
        if node.level == 0:
            return row
        id = row.id
