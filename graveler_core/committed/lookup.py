"""Look up entries of a tree by key. One lookup reads one node per level and one range."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

import pyarrow as pa

from graveler_core.committed.fingerprints import without_absent
from graveler_core.committed.node import NodeRow
from graveler_core.committed.packed import held_packed, packed
from graveler_core.committed.parts import glance_at
from graveler_core.committed.trees import ALL, DECISIVE, Range, Trees, held, read_node
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.merge import IDENTITY
from graveler_core.segments.sorted_keys import KEY, found_at

_IDENTITY_COLUMN = DECISIVE.index(IDENTITY)
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
    if held(trees, row, ALL) is None and not without_absent(trees, row, [key]):
        return None
    ((found, _),) = glance_at(trees, row, [key], ALL, keep=True)
    at = found.keys.position(key)
    return None if at is None else (found.columns, at)


def identities_of(trees: Trees, metarange: MetarangeId, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the identity of each existing entry at the sorted `keys`. For few keys. Raises as `lookup`."""
    identities: dict[bytes, bytes] = {}
    for row, part in _by_range(trees, metarange, keys):
        identities |= _identities(trees, row, part)
    return identities


def beginnings_of(trees: Trees, metarange: MetarangeId, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the identity, or a beginning of it, of each existing entry at the sorted `keys`. For few keys.

    Ranges that are wanted repeatedly are not decoded again. Raises as `lookup`.
    """
    beginnings: dict[bytes, bytes] = {}
    for row, part in _by_range(trees, metarange, keys):
        beginnings |= _beginnings(trees, row, part)
    return beginnings


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
    found = [_rows_at(trees, row, part, columns) for row, part in _by_range(trees, metarange, keys)]
    if len(found) == 1:
        return found[0]
    return pa.concat_tables(found) if found else _nothing(columns)


def _by_range(trees: Trees, metarange: MetarangeId, keys: Sequence[bytes]) -> Iterator[tuple[NodeRow, Sequence[bytes]]]:
    """Yield each range that may contain some of the sorted `keys`, with these keys."""
    start = 0
    while start < len(keys):
        row = _range_at(trees, metarange, keys[start])
        if row is None:
            return
        end = bisect_right(keys, row.max_key, start)
        first = bisect_left(keys, row.min_key, start, end)
        if first < end:
            yield row, keys[first:end]
        start = end


def _identities(trees: Trees, row: NodeRow, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the identity of each existing entry at some keys of a range."""
    found = held(trees, row, DECISIVE)
    if found is None:
        rows = _rows_at(trees, row, keys, DECISIVE)
        return dict(zip(rows.column(KEY).to_pylist(), rows.column(IDENTITY).to_pylist(), strict=True))
    column, positions = found.columns[_IDENTITY_COLUMN], map(found.keys.position, keys)
    return {key: column[at].as_py() for key, at in zip(keys, positions, strict=True) if at is not None}


def _beginnings(trees: Trees, row: NodeRow, keys: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return the identity of each existing entry at some keys of a range, or a beginning of it."""
    if held(trees, row, DECISIVE) is not None:
        return _identities(trees, row, keys)
    known = held_packed(trees, row)
    if known is None:
        keys = without_absent(trees, row, keys)
        known = packed(trees, row) if keys else None
    if known is None:
        return _identities(trees, row, keys)
    found = ((key, known.beginning(key)) for key in keys)
    return {key: beginning for key, beginning in found if beginning is not None}


@lru_cache(maxsize=2)
def _nothing(columns: tuple[str, ...]) -> pa.Table:
    return ENTRY_SCHEMA.empty_table().select(columns)


def _rows_at(trees: Trees, row: NodeRow, keys: Sequence[bytes], columns: tuple[str, ...]) -> pa.Table:
    """Return the entries of a range at some keys. If the range is not cached, cache these entries: flows often look up
    the same keys again.
    """
    found = held(trees, row, columns)
    if found is not None:
        return _taken(found, keys, columns)
    keys = without_absent(trees, row, keys)
    if not keys:
        return _nothing(columns)
    asked = (row.id, columns, tuple(keys))
    rows = trees.cache.get(asked)
    if rows is None:
        taken = [_taken(part, wanted, columns) for part, wanted in glance_at(trees, row, keys, columns)]
        rows = taken[0] if len(taken) == 1 else pa.concat_tables(taken)
        trees.cache.put(asked, rows, rows.nbytes + sum(map(len, keys)) + _ROWS_BYTES)
    return rows


def _taken(found: Range, keys: Sequence[bytes], columns: tuple[str, ...]) -> pa.Table:
    return found.select(columns).take(pa.array(found_at(found.keys, keys)))


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
