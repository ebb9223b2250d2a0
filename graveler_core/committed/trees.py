"""Context that every tree function takes, and reading and writing of nodes and ranges in the storage namespace."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.codec.content_hash import ContentHash, hex_id
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.node import MAX_SIZE, Node, NodeRow, decode, encode
from graveler_core.errors import CorruptData, Kind, NotFound
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.model.ids import MetarangeId
from graveler_core.segments import format as segment_format
from graveler_core.segments.boundary import Cutting
from graveler_core.segments.merge import IDENTITY
from graveler_core.segments.sorted_keys import KEY, SortedKeys

RANGE_TAG = b"range"
ALL = tuple(ENTRY_SCHEMA.names)
DECISIVE = (KEY, IDENTITY)
"""Columns that decide whether entries are equal."""
_NODE_ROW_BYTES = 400
"""Memory of a decoded row without its keys, in bytes."""
PART_ROWS = 4_096
"""Number of entries of a part of a range. Smaller parts would make files larger and slower to write."""
_HELD_KEYS = 32
"""One in this number of keys of a range is held as a Python value."""


@dataclass(frozen=True)
class Trees:
    """Trees of one repository. Opened by the caller; holds no connection of its own."""

    blobs: Blobs
    """Storage namespace of the repository."""
    boundary_seed: int
    cutting: Cutting = field(default_factory=Cutting)
    cache: TreeCache = field(default_factory=TreeCache)
    verify: bool = False
    """True to hash ranges that are read, which doubles the cost of reading. Without it, a damaged page is detected by
    its checksum, and a wrong file by its first key, last key and count.
    """


class Range(NamedTuple):
    """Decoded range, or some of its columns, in one chunk, because readers search keys in it."""

    table: pa.Table
    columns: list[pa.Array]
    """Columns of the table. Readers of single entries use them, because a table creates them for each access."""
    keys: SortedKeys

    def select(self, columns: tuple[str, ...]) -> pa.Table:
        """Return columns of the range, `ALL` or `DECISIVE`. It must have them."""
        return self.table if len(columns) == len(self.columns) else self.table.select(columns)

    def between(self, start: bytes, end: bytes | None) -> pa.Table:
        """Return the rows with `start` ≤ key < `end` (`None`: no end), without copying."""
        first = self.keys.lower_bound(start)
        last = self.table.num_rows if end is None else self.keys.lower_bound(end, first)
        return self.table.slice(first, last - first)


def address(id: str) -> str:
    """Return the address of a range or a node, relative to the storage namespace."""
    return f"_graveler/{id}"


def range_id(entries: pa.Table) -> str:
    """Return the id of a range: the hash of its rows, independent of the file format."""
    content = ContentHash(RANGE_TAG, ENTRY_SCHEMA)
    content.update(entries)
    return content.hexdigest()


def range_row(entries: pa.Table) -> NodeRow:
    """Return the row by which a node refers to a range of these entries. There must be at least one entry."""
    keys = entries.column(KEY)
    return NodeRow(keys[0].as_py(), keys[-1].as_py(), range_id(entries), entries.num_rows, _total_size(entries))


def write_range(trees: Trees, row: NodeRow, entries: pa.Table) -> None:
    """Store a range. If it already exists, do nothing."""
    trees.blobs.create(address(row.id), segment_format.encode(entries, row_group_rows=PART_ROWS))


def read_range(trees: Trees, row: NodeRow, data: bytes | None = None) -> Range:
    """Return a range from the cache or the store, and cache it. `data` is its file, if the caller has read it.

    Raises:
        CorruptData: The range is missing, damaged, or differs from its row.
    """
    cached: Range | None = trees.cache.get(row.id)
    if cached is not None:
        return cached
    found = range_of(_decoded(trees, row, data=data))
    trees.cache.put(row.id, found, found.table.nbytes)
    return found


def held(trees: Trees, row: NodeRow, columns: tuple[str, ...]) -> Range | None:
    """Return a range with at least some columns, `ALL` or `DECISIVE`, if it is cached; otherwise `None`."""
    cached: Range | None = trees.cache.get(row.id)
    return trees.cache.get((row.id, columns)) if cached is None and columns != ALL else cached


def glance(trees: Trees, row: NodeRow, columns: tuple[str, ...], data: bytes | None = None) -> Range:
    """Return a range with at least some columns, `ALL` or `DECISIVE`, for callers that read a few rows and may not
    return.

    The columns are cached from the second call on, because allocating fresh memory costs more than decoding. Raises
    as `read_range`.
    """
    found = held(trees, row, columns)
    if found is None:
        found = range_of(_decoded(trees, row, columns, data))
        id = row.id if columns == ALL else (row.id, columns)
        if trees.cache.asked_before(id):
            trees.cache.put(id, found, found.table.nbytes)
    return found


def hold_range(trees: Trees, row: NodeRow, entries: pa.Table) -> None:
    """Cache the entries of a range for later readers."""
    trees.cache.put(row.id, range_of(entries), entries.nbytes)


def range_of(entries: pa.Table) -> Range:
    """Return a range, or columns of it, from a table whose first column is `key`."""
    table = entries.combine_chunks()
    columns = [column.chunk(0) for column in table.columns]
    return Range(table, columns, SortedKeys(columns[0], _HELD_KEYS))


def write_node(trees: Trees, id: str, data: bytes, node: Node) -> None:
    """Store a node with a known id and encoding. If it already exists, do nothing."""
    trees.blobs.create(address(id), data)
    _hold_node(trees, id, data, node)


def encoded(node: Node) -> tuple[str, bytes]:
    """Return the id and the bytes of a node."""
    data = encode(node)
    return hex_id(data), data


def read_node(trees: Trees, id: str) -> Node:
    """Return a node from the cache or the store.

    Raises:
        CorruptData: The node is missing or damaged.
    """
    cached: Node | None = trees.cache.get(id)
    if cached is not None:
        return cached
    data = _read(trees, id, Kind.CorruptMetarange)
    node = decode(data, id)
    _hold_node(trees, id, data, node)
    return node


def count_entries(trees: Trees, metarange: MetarangeId) -> int:
    """Return the number of entries of a tree. Only its root is read."""
    return read_node(trees, metarange).entries


def totals(trees: Trees, metarange: MetarangeId) -> tuple[int, int]:
    """Return the number of entries of a tree, and their total size in bytes (at most `MAX_SIZE`). Only its root is
    read.
    """
    root = read_node(trees, metarange)
    return root.entries, root.size


def _hold_node(trees: Trees, id: str, data: bytes, node: Node) -> None:
    trees.cache.put(id, node, 2 * len(data) + _NODE_ROW_BYTES * len(node.rows))


def _decoded(trees: Trees, row: NodeRow, columns: tuple[str, ...] = ALL, data: bytes | None = None) -> pa.Table:
    """Return columns of a range, from its file or the store."""
    name, data = address(row.id), read_data(trees, row) if data is None else data
    every = columns == ALL or trees.verify
    entries = segment_format.decode(data, ENTRY_SCHEMA, name, None if every else columns)
    keys = entries.column(KEY)
    right = entries.num_rows == row.entries > 0 and (keys[0].as_py(), keys[-1].as_py()) == (row.min_key, row.max_key)
    if not right or (trees.verify and range_id(entries) != row.id):
        raise differs(row)
    return entries.select(columns)


def read_keys(trees: Trees, row: NodeRow, data: bytes) -> pa.Array:
    """Return all keys of a range from its file.

    Raises:
        CorruptData: The range is damaged, or differs from its row.
    """
    return _decoded(trees, row, (KEY,), data).column(KEY).chunk(0)


def read_decisive(trees: Trees, row: NodeRow) -> list[pa.Array]:
    """Return all keys and identities of a range from the store, without caching them. Raises as `read_range`."""
    return [column.chunk(0) for column in _decoded(trees, row, DECISIVE).columns]


def read_data(trees: Trees, row: NodeRow) -> bytes:
    """Return the file of a range.

    Raises:
        CorruptData: The file is missing.
    """
    return _read(trees, row.id, Kind.CorruptRange)


def differs(row: NodeRow) -> CorruptData:
    """Return the error that a range differs from its row."""
    name = address(row.id)
    return CorruptData(f"segment {name}: holds other entries than its id says", kind=Kind.CorruptRange, address=name)


def _read(trees: Trees, id: str, kind: Kind) -> bytes:
    try:
        return trees.blobs.read(address(id))
    except NotFound as e:
        raise CorruptData(f"object {address(id)}: is missing", kind=kind, address=address(id)) from e


def _total_size(entries: pa.Table) -> int:
    """Return the exact sum of the sizes, which may exceed 64 bits, capped at `MAX_SIZE`."""
    sizes = entries.column("size")
    if pc.max(sizes).as_py() <= MAX_SIZE // entries.num_rows:
        return max(int(pc.sum(sizes).as_py()), 0)
    exact = sum(np.asarray(sizes.to_numpy(), dtype=object))
    return min(max(int(exact), 0), MAX_SIZE)
