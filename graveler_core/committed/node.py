"""Node of a metarange tree and its encoding. Source: the storage model, "Segments, ranges, metaranges".

The rows of a node of level 0 refer to ranges, those of level n to nodes of level n - 1. A tree without entries is
one node of level 0 without rows. The id of a node is the hash of its bytes. The encoding is canonical: each node has
exactly one.

    version u8 · level u8 · rows u32 · lengths of min keys u32… · lengths of max keys u32… · counts u64… · sizes u64…
    · ids 32 bytes… · min keys end to end · max keys end to end                              (numbers little-endian)
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np

from graveler_core.codec.content_hash import DIGEST_BYTES, hex_id
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.counting import counted

VERSION = 1
MAX_SIZE = (1 << 63) - 1
"""Maximum sum of entry sizes; larger sums are capped."""
_HEAD = struct.Struct("<BBI")
_ROW_BYTES = 4 + 4 + 8 + 8 + DIGEST_BYTES


class NodeRow(NamedTuple):
    """Reference to a range or a node, as stored in its parent."""

    min_key: bytes
    max_key: bytes
    id: str
    """64 hex digits."""
    entries: int
    """Number of entries in it."""
    size: int
    """Sum of the entries' `size`, in bytes, at most `MAX_SIZE`."""


@dataclass(frozen=True)
class Node:
    """Rows ordered by key; their key intervals do not overlap."""

    level: int
    rows: Sequence[NodeRow]

    @cached_property
    def max_keys(self) -> list[bytes]:
        """Max keys of the rows, for binary search."""
        return [row.max_key for row in self.rows]

    @property
    def entries(self) -> int:
        """Number of entries below this node."""
        return sum(row.entries for row in self.rows)

    @property
    def size(self) -> int:
        """Sum of the entries' `size`, in bytes, at most `MAX_SIZE`."""
        return min(sum(row.size for row in self.rows), MAX_SIZE)

    def as_row(self, id: str) -> NodeRow:
        """Return the row by which a parent refers to this node, which must not be empty."""
        return NodeRow(self.rows[0].min_key, self.rows[-1].max_key, id, self.entries, self.size)


EMPTY = Node(0, ())


def encode(node: Node) -> bytes:
    """Return the bytes of a node."""
    rows = node.rows
    min_keys, max_keys, ids = [r.min_key for r in rows], [r.max_key for r in rows], [r.id for r in rows]
    return b"".join(
        [
            _HEAD.pack(VERSION, node.level, len(rows)),
            np.array([len(k) for k in min_keys], "<u4").tobytes(),
            np.array([len(k) for k in max_keys], "<u4").tobytes(),
            np.array([r.entries for r in rows], "<u8").tobytes(),
            np.array([r.size for r in rows], "<u8").tobytes(),
            bytes.fromhex("".join(ids)),
            *min_keys,
            *max_keys,
        ]
    )


def decode(data: bytes, id: str) -> Node:
    """Return the node that is encoded in `data`.

    Raises:
        CorruptData: The bytes are not those of the node with this id. The hash is always verified.
    """
    if hex_id(data) != id:
        raise _corrupt(id, "its content has another hash")
    if len(data) < _HEAD.size:
        raise _corrupt(id, f"has only {counted(len(data), 'byte')}")
    version, level, count = _HEAD.unpack_from(data)
    if version != VERSION:
        raise _corrupt(id, f"has format version {version}, known is {VERSION}")
    start = _HEAD.size + count * _ROW_BYTES
    if start > len(data):
        raise _corrupt(id, f"is cut short at {counted(len(data), 'byte')}")
    min_lengths, max_lengths, counts, sizes = _numbers(data, count)
    if start + sum(min_lengths) + sum(max_lengths) != len(data):
        raise _corrupt(id, "keys and lengths disagree")
    ids = data[start - count * DIGEST_BYTES : start].hex()
    max_start = start + sum(min_lengths)
    rows = tuple(
        map(
            NodeRow,
            _cut(data, start, min_lengths),
            _cut(data, max_start, max_lengths),
            [ids[i : i + 2 * DIGEST_BYTES] for i in range(0, len(ids), 2 * DIGEST_BYTES)],
            counts,
            sizes,
        )
    )
    _check_order(rows, id)
    if (level and not rows) or any(not row.entries or row.size > MAX_SIZE for row in rows):
        raise _corrupt(id, "has a row without entries, too large a size, or no row above level 0")
    return Node(level, rows)


def _numbers(data: bytes, count: int) -> list[list[int]]:
    columns: list[list[int]] = []
    at = _HEAD.size
    for kind in ("<u4", "<u4", "<u8", "<u8"):
        values: Any = np.frombuffer(data, kind, count, at)
        columns.append(values.tolist())
        at += values.nbytes
    return columns


def _cut(data: bytes, start: int, lengths: list[int]) -> list[bytes]:
    bounds = list(accumulate(lengths, initial=start))
    return [data[a:b] for a, b in pairwise(bounds)]


def _check_order(rows: Sequence[NodeRow], id: str) -> None:
    """Check that keys are in order, so that a node written by a faulty writer under a correct id cannot mislead
    searches.
    """
    keys = [key for row in rows for key in (row.min_key, row.max_key)]
    inside = all(row.min_key <= row.max_key for row in rows)
    apart = all(a < b for a, b in zip(keys[1::2], keys[2::2], strict=False))
    if not (inside and apart):
        raise _corrupt(id, "its keys are not in order")


def _corrupt(id: str, why: str) -> CorruptData:
    return CorruptData(f"metarange node {id}: {why}", kind=Kind.CorruptMetarange, id=id)
