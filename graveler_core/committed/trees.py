"""What every tree function takes, and the reading and writing of nodes and ranges in the storage namespace."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import Blobs
from graveler_core.codec.content_hash import ContentHash, hex_id
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.node import MAX_SIZE, Node, Row, decode, encode
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
"""The columns that decide whether entries are equal."""
_NODE_ROW_BYTES = 400
"""What a decoded row takes in memory besides its keys."""


@dataclass(frozen=True)
class Trees:
    """The trees of one repository. Opened by the caller; holds no connection of its own."""

    blobs: Blobs
    """The repository's storage namespace."""
    boundary_seed: int
    cutting: Cutting = field(default_factory=Cutting)
    cache: TreeCache = field(default_factory=TreeCache)
    verify: bool = False
    """Whether ranges that are read are hashed, which doubles the cost of reading. Without it a damaged page is found by
    its checksum, and a wrong file by its first key, last key and count."""


def address(id: str) -> str:
    """Where a range or a node is kept below the storage namespace."""
    return f"_graveler/{id}"


def range_id(entries: pa.Table) -> str:
    """The id of a range: the hash of its rows, whatever file they are in."""
    content = ContentHash(RANGE_TAG, ENTRY_SCHEMA)
    content.update(entries)
    return content.hexdigest()


def range_row(entries: pa.Table) -> Row:
    """How a node knows a range of these entries; there must be one at least."""
    keys = entries.column(KEY)
    return Row(keys[0].as_py(), keys[-1].as_py(), range_id(entries), entries.num_rows, _total_size(entries))


def write_range(trees: Trees, row: Row, entries: pa.Table) -> None:
    """Keep a range; storing one that is there already is success."""
    trees.blobs.create(address(row.id), segment_format.encode(entries))


def read_range(trees: Trees, row: Row) -> pa.Table:
    """The entries of a range, in one chunk, from the cache or the store; they are held for readers to come.

    Raises:
        CorruptData: it is missing, damaged, or not what its row says.
    """
    cached = trees.cache.get(row.id)
    if cached is not None:
        return cached
    entries = _decoded(trees, row)
    hold_range(trees, row, entries)
    return entries


def held(trees: Trees, row: Row, columns: tuple[str, ...]) -> pa.Table | None:
    """Columns of a range, `ALL` or `DECISIVE`, where they are in memory."""
    cached = trees.cache.get(row.id)
    if cached is not None:
        return cached if columns == ALL else cached.select(columns)
    return None if columns == ALL else trees.cache.get((row.id, columns))


def glance(trees: Trees, row: Row, columns: tuple[str, ...]) -> pa.Table:
    """Columns of a range, `ALL` or `DECISIVE`, for who takes a few rows and may never come back.

    They are held from the second time on: memory that was never used before costs more than decoding. Raises as
    `read_range`.
    """
    entries = held(trees, row, columns)
    if entries is None:
        entries = _decoded(trees, row, columns)
        id = row.id if columns == ALL else (row.id, columns)
        if trees.cache.asked_before(id):
            trees.cache.put(id, entries, entries.nbytes)
    return entries


def hold_range(trees: Trees, row: Row, entries: pa.Table) -> None:
    """Have the entries of a range at hand for readers to come: in one chunk, as they look for keys in it."""
    trees.cache.put(row.id, entries.combine_chunks(), entries.nbytes)


def write_node(trees: Trees, id: str, data: bytes, node: Node) -> None:
    """Keep a node, of which id and bytes are known; storing one that is there already is success."""
    trees.blobs.create(address(id), data)
    _hold_node(trees, id, data, node)


def encoded(node: Node) -> tuple[str, bytes]:
    """A node's id and bytes."""
    data = encode(node)
    return hex_id(data), data


def read_node(trees: Trees, id: str) -> Node:
    """A node, from the cache or the store.

    Raises:
        CorruptData: it is missing or damaged.
    """
    cached: Node | None = trees.cache.get(id)
    if cached is not None:
        return cached
    data = _read(trees, id, Kind.CorruptMetarange)
    node = decode(data, id)
    _hold_node(trees, id, data, node)
    return node


def count_entries(trees: Trees, metarange: MetarangeId) -> int:
    """How many entries a tree holds, from its root alone."""
    return read_node(trees, metarange).entries


def totals(trees: Trees, metarange: MetarangeId) -> tuple[int, int]:
    """How many entries a tree holds, and the bytes that they describe (at most `MAX_SIZE`), from its root alone."""
    root = read_node(trees, metarange)
    return root.entries, root.size


def _hold_node(trees: Trees, id: str, data: bytes, node: Node) -> None:
    trees.cache.put(id, node, 2 * len(data) + _NODE_ROW_BYTES * len(node.rows))


def _decoded(trees: Trees, row: Row, columns: tuple[str, ...] = ALL) -> pa.Table:
    """Columns of a range from the store."""
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
    """Exact sum of the sizes, which 64 bits may not hold, up to `MAX_SIZE`."""
    sizes = entries.column("size")
    if pc.max(sizes).as_py() <= MAX_SIZE // entries.num_rows:
        return max(int(pc.sum(sizes).as_py()), 0)
    exact = sum(np.asarray(sizes.to_numpy(), dtype=object))
    return min(max(int(exact), 0), MAX_SIZE)
