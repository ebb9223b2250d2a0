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
from graveler_core.segments.sorted_keys import KEY

RANGE_TAG = b"range"
ALL = tuple(ENTRY_SCHEMA.names)
DECISIVE = (KEY, IDENTITY)
"""Columns that decide if entries are equal."""
_NODE_ROW_BYTES = 400
"""Memory of a decoded row without its keys, in bytes."""


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


class _Range(NamedTuple):
    """Decoded range, in one chunk, because readers search keys in it."""

    table: pa.Table
    columns: list[pa.Array]
    """Columns of the table. Readers of single entries use them, because a table creates them for each access."""


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
    trees.blobs.create(address(row.id), segment_format.encode(entries))


def read_range(trees: Trees, row: NodeRow) -> pa.Table:
    """Return the entries of a range in one chunk, from the cache or the store, and cache them.

    Raises:
        CorruptData: The range is missing, damaged, or differs from its row.
    """
    return _read_range(trees, row).table


def read_columns(trees: Trees, row: NodeRow) -> list[pa.Array]:
    """Return the columns of a range, to read single entries. Otherwise as `read_range`."""
    return _read_range(trees, row).columns


def _read_range(trees: Trees, row: NodeRow) -> _Range:
    cached: _Range | None = trees.cache.get(row.id)
    if cached is not None:
        return cached
    found = _range_of(_decoded(trees, row))
    trees.cache.put(row.id, found, found.table.nbytes)
    return found


def held(trees: Trees, row: NodeRow, columns: tuple[str, ...]) -> pa.Table | None:
    """Return columns of a range, `ALL` or `DECISIVE`, if they are cached; otherwise `None`."""
    cached: _Range | None = trees.cache.get(row.id)
    if cached is not None:
        return cached.table if columns == ALL else cached.table.select(columns)
    return None if columns == ALL else trees.cache.get((row.id, columns))


def glance(trees: Trees, row: NodeRow, columns: tuple[str, ...]) -> pa.Table:
    """Return columns of a range, `ALL` or `DECISIVE`, for callers that read a few rows and may not return.

    The columns are cached from the second call on, because allocating fresh memory costs more than decoding. Raises
    as `read_range`.
    """
    entries = held(trees, row, columns)
    if entries is None:
        entries = _decoded(trees, row, columns)
        id = row.id if columns == ALL else (row.id, columns)
        if trees.cache.asked_before(id):
            trees.cache.put(id, _range_of(entries) if columns == ALL else entries, entries.nbytes)
    return entries


def hold_range(trees: Trees, row: NodeRow, entries: pa.Table) -> None:
    """Cache the entries of a range for later readers."""
    trees.cache.put(row.id, _range_of(entries), entries.nbytes)


def _range_of(entries: pa.Table) -> _Range:
    table = entries.combine_chunks()
    return _Range(table, [column.chunk(0) for column in table.columns])


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


def _decoded(trees: Trees, row: NodeRow, columns: tuple[str, ...] = ALL) -> pa.Table:
    """Read columns of a range from the store."""
    name, data = address(row.id), _read(trees, row.id, Kind.CorruptRange)
    every = columns == ALL or trees.verify
    entries = segment_format.decode(data, ENTRY_SCHEMA, name, None if every else columns)
    keys = entries.column(KEY)
    right = entries.num_rows == row.entries > 0 and (keys[0].as_py(), keys[-1].as_py()) == (row.min_key, row.max_key)
    if not right or (trees.verify and range_id(entries) != row.id):
        raise CorruptData(f"segment {name}: holds other entries than its id says", kind=Kind.CorruptRange, address=name)
    return entries.select(columns)


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
