"""Cursor in a metarange tree: a position between rows of any level.

It moves forward only, and reads a node only to descend into it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from graveler_core.committed.node import Node, NodeRow
from graveler_core.committed.trees import Trees, read_node


class TreeCursor:
    """Position before a row; initially before the first row of the root whose max key is ≥ `start`.

    Args:
        trees: Where the tree is stored.
        root: Id of the tree.
        start: Skip rows whose max key is less.
        end: Stop at rows whose min key is not less; `None` for no end.
    """

    def __init__(self, trees: Trees, root: str, start: bytes = b"", end: bytes | None = None) -> None:
        self._trees = trees
        self._start = start
        self._end = end
        self._stack: list[tuple[Node, int]] = []
        self._enter(root)

    def peek(self) -> tuple[int, NodeRow] | None:
        """Return the next row and its level (0: a range; n: a node of level n - 1), or `None` at the end."""
        if not self._stack:
            return None
        node, index = self._stack[-1]
        return node.level, node.rows[index]

    def step(self) -> None:
        """Move past the next row and everything below it."""
        while self._stack:
            node, index = self._stack.pop()
            if index + 1 < len(node.rows):
                if self._end is None or node.rows[index + 1].min_key < self._end:
                    self._stack.append((node, index + 1))
                else:
                    self._stack.clear()
                return

    def descend(self) -> None:
        """Descend into the node of the next row, which must not be a range."""
        node, index = self._stack[-1]
        self._enter(node.rows[index].id)

    def ranges(self) -> Iterator[NodeRow]:
        """Yield the remaining ranges and move past them. A node is read when its first range is requested."""
        while (ahead := self.peek()) is not None:
            level, row = ahead
            if level > 0:
                self.descend()
            else:
                self.step()
                yield row

    def at_last(self) -> bool:
        """Return `True` if no row follows the next one."""
        return all(index + 1 == len(node.rows) for node, index in self._stack)

    def _enter(self, id: str) -> None:
        node = read_node(self._trees, id)
        index = bisect_left(node.max_keys, self._start) if self._start else 0
        if index == len(node.rows):
            self._pass_by()
        elif self._end is not None and node.rows[index].min_key >= self._end:
            self._stack.clear()
        else:
            self._stack.append((node, index))

    def _pass_by(self) -> None:
        if self._stack:
            self.step()
