"""Rows into nodes, level over level, until one node remains. Source: the storage model; Dolt's chunker.

A node of level n ends with a row whose max key's hash is under the threshold of level n + 1. So its edges depend on the
keys alone, and a node of an older tree can be taken as it is wherever the rows before it end where they ended then.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.committed.node import EMPTY, Node, Row
from graveler_core.committed.trees import Trees, encoded, read_node, write_node
from graveler_core.errors import CorruptData, Kind
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import key_hash


class TreeBuilder:
    """Takes rows in key order and writes nodes as they close; memory is one open node a level."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._open: list[list[Row]] = []
        self._first: dict[int, tuple[str, bytes, Node]] = {}
        """The first node that closed on each level, not yet written: it may turn out to stand above the root."""

    def push(self, level: int, row: Row) -> None:
        """Append a range (level 0) or a whole subtree (level n: its root is a node of level n - 1).

        A subtree fits only where all that was pushed before closed its nodes below that level.
        """
        hashed = key_hash(row.max_key, self._trees.boundary_seed)
        while True:
            self._rows(level).append(row)
            if hashed >= self._trees.cutting.threshold(level + 1):
                return
            row = self._close(level)
            level += 1

    def finish(self) -> MetarangeId:
        """Close what is open, write what is left, and give the root's id."""
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
        """Whether all that is left is one row that stands for a node: the root, or a node above it."""
        return level > 0 and len(self._open[level]) == 1 and not any(self._open[level + 1 :])

    def _root(self, level: int, id: str) -> MetarangeId:
        """The lowest node that holds everything: a chain of nodes of one row each is not part of the tree."""
        held = {first[0]: first[2] for first in self._first.values()}
        node = held.get(id) or read_node(self._trees, id)
        if node.level != level:
            raise CorruptData(f"metarange node {id}: is of level {node.level}, not {level}", kind=Kind.CorruptMetarange)
        while node.level > 0 and len(node.rows) == 1:
            id = node.rows[0].id
            node = held.get(id) or read_node(self._trees, id)
        for first_id, data, first in self._first.values():
            if first.level <= node.level:
                write_node(self._trees, first_id, data, first)
        return MetarangeId(id)

    def _close(self, level: int) -> Row:
        node = Node(level, tuple(self._open[level]))
        self._open[level] = []
        id, data = encoded(node)
        if level in self._first:
            write_node(self._trees, id, data, node)
        else:
            self._first[level] = (id, data, node)
        return node.as_row(id)

    def _rows(self, level: int) -> list[Row]:
        while len(self._open) <= level:
            self._open.append([])
        return self._open[level]


@dataclass(slots=True)
class _Level:
    left: list[Row] = field(default_factory=list)
    """Rows of the node that began before the part."""
    open: list[Row] = field(default_factory=list)
    begun: bool = False
    """Whether a node of this level has closed."""


class PartBuilder:
    """Takes the rows of a part of a tree and writes the nodes that close in it, whatever stands beside it.

    Of each level the first node that closes may have begun before the part, and the last goes on behind it: of those,
    the rows are handed back. So there are some fan-outs a level, whatever the part holds. A node between the two is
    never above the root: there are others on its level.
    """

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self._levels: list[_Level] = []

    def push(self, level: int, row: Row) -> None:
        """As `TreeBuilder.push`."""
        hashed = key_hash(row.max_key, self._trees.boundary_seed)
        for below in range(level):
            self._level(below).begun = True  # a subtree fits only where nodes of these levels have closed
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

    def rows(self) -> list[tuple[int, Row]]:
        """What a builder of the whole tree is to be given for this part: rows with their levels."""
        levels = list(enumerate(self._levels))
        rising = [(number, row) for number, level in levels for row in level.left]
        return rising + [(number, row) for number, level in reversed(levels) for row in level.open]

    def _close(self, level: int) -> Row:
        node = Node(level, tuple(self._levels[level].open))
        self._levels[level].open = []
        id, data = encoded(node)
        write_node(self._trees, id, data, node)
        return node.as_row(id)

    def _level(self, level: int) -> _Level:
        while len(self._levels) <= level:
            self._levels.append(_Level())
        return self._levels[level]
