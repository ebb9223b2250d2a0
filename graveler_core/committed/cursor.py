"""A place in a metarange tree: between rows of any level, moving forward only, reading a node only to go into it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from graveler_core.committed.node import Node, Row
from graveler_core.committed.trees import Trees, read_node


class Cursor:
    """Stands before a row, at first before the root's first row that reaches `start`.

    Args:
        trees: Where the tree is kept.
        root: Its id.
        start: Rows whose max key is less are passed over.
        end: Rows whose min key is not less are not seen; None sees all.
    """

    def __init__(self, trees: Trees, root: str, start: bytes = b"", end: bytes | None = None) -> None:
        self._trees = trees
        self._start = start
        self._end = end
        self._stack: list[tuple[Node, int]] = []
        self._enter(root)

    def peek(self) -> tuple[int, Row] | None:
        """The row ahead and its level (0: a range; n: a node of level n - 1), None at the end."""
        if not self._stack:
            return None
        node, index = self._stack[-1]
        return node.level, node.rows[index]

    def step(self) -> None:
        """Pass the row ahead, with everything below it."""
        while self._stack:
            node, index = self._stack.pop()
            if index + 1 < len(node.rows):
                if self._end is None or node.rows[index + 1].min_key < self._end:
                    self._stack.append((node, index + 1))
                else:
                    self._stack.clear()
                return

    def descend(self) -> None:
        """Go into the node of the row ahead, which must not be a range."""
        node, index = self._stack[-1]
        self._enter(node.rows[index].id)

    def ranges(self) -> Iterator[Row]:
        """Pass all that is ahead, range by range; each node is read when its first range is asked for."""
        while (ahead := self.peek()) is not None:
            level, row = ahead
            if level > 0:
                self.descend()
            else:
                self.step()
                yield row

    def at_last(self) -> bool:
        """Whether nothing follows the row ahead."""
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
