"""Build a tree level by level, from rows to nodes, until one node remains. Source: the storage model; Dolt's chunker.

A node of level n ends with a row if the hash of the row's max key is below the threshold of level n + 1. So node
boundaries depend only on the keys. A node of an older tree can therefore be reused wherever the preceding rows end
at the same key as in that tree.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.committed.node import EMPTY, Node, NodeRow
from graveler_core.committed.trees import Trees, encoded, read_node, write_node
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash


class TreeBuilder:
    """Builder that takes rows in key order and writes nodes as they close. Memory: one open node per level."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._open: list[list[NodeRow]] = []
        self._first: dict[int, tuple[str, bytes, Node]] = {}
        """First closed node of each level. It is not written yet, because it may turn out to be above the root."""

    def push(self, level: int, row: NodeRow) -> None:
        """Append a range (level 0) or a whole subtree (level n: its root is a node of level n - 1).

        A subtree may only be appended after all earlier rows have closed their nodes below that level.
        """
        hashed = key_hash(row.max_key, self._trees.boundary_seed)
        while True:
            self._rows(level).append(row)
            if hashed >= self._trees.cutting.threshold(level + 1):
                return
            row = self._close(level)
            level += 1

    def finish(self) -> MetarangeId:
        """Close the open nodes, write all unwritten nodes, and return the id of the root."""
        level = 0
        while level < len(self._open) and not self._only_row(level):
            if self._open[level]:
                self._rows(level + 1).append(self._close(level))
            level += 1
        if level == len(self._open):
            id, data = encoded(EMPTY)
            write_node(self._trees, id, data, EMPTY)
            return MetarangeId(id)
        return self._root(level - 1, self._open[level][0].id)

    def _only_row(self, level: int) -> bool:
        """Return `True` if exactly one row is left and it refers to a node, which is then the root or a node above
        it.
        """
        return level > 0 and len(self._open[level]) == 1 and not any(self._open[level + 1 :])

    def _root(self, level: int, id: str) -> MetarangeId:
        """Return the lowest node that holds all entries. A chain of nodes with one row each is not part of the tree."""
        held = {first[0]: first[2] for first in self._first.values()}
        node = held.get(id) or read_node(self._trees, id)
        if node.level != level:
            raise CorruptData(
                f"metarange node {id}: must be of level {level}, but is of level {node.level}",
                kind=Kind.CorruptMetarange,
            )
        while node.level > 0 and len(node.rows) == 1:
            id = node.rows[0].id
            node = held.get(id) or read_node(self._trees, id)
        for first_id, data, first in self._first.values():
            if first.level <= node.level:
                write_node(self._trees, first_id, data, first)
        return MetarangeId(id)

    def _close(self, level: int) -> NodeRow:
        node = Node(level, tuple(self._open[level]))
        self._open[level] = []
        id, data = encoded(node)
        if level in self._first:
            write_node(self._trees, id, data, node)
        else:
            self._first[level] = (id, data, node)
        return node.as_row(id)

    def _rows(self, level: int) -> list[NodeRow]:
        while len(self._open) <= level:
            self._open.append([])
        return self._open[level]


@dataclass(slots=True)
class _Level:
    left: list[NodeRow] = field(default_factory=list)
    """Rows of the node that began before the partition."""
    open: list[NodeRow] = field(default_factory=list)
    begun: bool = False
    """True if a node of this level has closed."""


class PartitionBuilder:
    """Builder that takes the rows of a partition of a tree and writes the nodes that close inside it, independently of
    neighbouring partitions.

    On each level, the first node that closes may have begun before the partition, and the last node may continue
    after it. The rows of these two nodes are returned to the caller, at most a few times the fan-out per level, for
    a partition of any size. A node between the two is never above the root, because its level has other nodes.
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._levels: list[_Level] = []

    def push(self, level: int, row: NodeRow) -> None:
        """Append a range or a subtree as `TreeBuilder.push` does."""
        hashed = key_hash(row.max_key, self._trees.boundary_seed)
        for below in range(level):
            self._level(below).begun = True  # a subtree may only follow where nodes of these levels have closed
        at = self._level(level)
        at.open.append(row)
        while hashed < self._trees.cutting.threshold(level + 1):
            if at.begun:
                row = self._close(level)
                at = self._level(level + 1)
                at.open.append(row)
            else:
                at.left, at.open, at.begun = at.open, [], True
                at = self._level(level + 1)
            level += 1

    def rows(self) -> list[tuple[int, NodeRow]]:
        """Return the rows that a builder of the whole tree needs for this partition, with their levels."""
        levels = list(enumerate(self._levels))
        rising = [(number, row) for number, level in levels for row in level.left]
        return rising + [(number, row) for number, level in reversed(levels) for row in level.open]

    def _close(self, level: int) -> NodeRow:
        node = Node(level, tuple(self._levels[level].open))
        self._levels[level].open = []
        id, data = encoded(node)
        write_node(self._trees, id, data, node)
        return node.as_row(id)

    def _level(self, level: int) -> _Level:
        while len(self._levels) <= level:
            self._levels.append(_Level())
        return self._levels[level]
