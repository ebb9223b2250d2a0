"""Join the results of neighbouring tasks: the entries that one task left open, and those that the next task found
before its first boundary.

Together these entries form one primary interval (`segments.boundary`), or the end of the tree. They are split into
ranges and written here. Each pair of tasks that do not meet at a boundary costs one or two ranges.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa

from graveler_core.committed.node import NodeRow
from graveler_core.committed.rewrite import write_ranges
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import ENTRY_SCHEMA


class Builder(Protocol):
    """Builder that takes the rows of a tree in key order."""

    def push(self, level: int, row: NodeRow) -> None:
        """Append a range (level 0) or a whole subtree."""


class Joint:
    """Joins results in key order and passes their rows to a builder. Memory: one primary interval.

    Args:
        trees: The repository's trees.
        builder: Receives the rows.
        begun: `True` if everything before the first result is closed. If `False`, the entries up to the first boundary
            become `head`.
    """

    def __init__(self, trees: Trees, builder: Builder, *, begun: bool = True) -> None:
        self._trees = trees
        self._builder = builder
        self._open: list[pa.Table] = []
        self.begun = begun
        self.last: bytes | None = None
        """Last key that was passed to the builder."""
        self.head: pa.Table = ENTRY_SCHEMA.empty_table()

    def take(self, head: pa.Table, bounded: bool, rows: Iterable[tuple[int, NodeRow]], tail: pa.Table) -> None:
        """Append a result.

        Args:
            head: Entries up to the first boundary.
            bounded: `True` if a boundary closes `head`.
            rows: Rows with their levels.
            tail: Entries after the last boundary.
        """
        self._wait_for(head)
        if bounded:
            self.close()
        for level, row in rows:
            self.keep(level, row)
        self._wait_for(tail)

    def keep(self, level: int, row: NodeRow) -> None:
        """Append a row that begins where everything before it is closed."""
        self._builder.push(level, row)
        self.last = row.max_key

    def close(self) -> None:
        """Close the open entries at a boundary, or at the end of the tree."""
        if self.is_closed():
            return
        entries = self.rest()
        if not self.begun:
            self.head, self.begun = entries, True
            return
        for row in write_ranges(self._trees, entries, np.array([entries.num_rows])) if entries.num_rows else ():
            self.keep(0, row)

    def rest(self) -> pa.Table:
        """Return the open entries, and forget them."""
        entries = pa.concat_tables([ENTRY_SCHEMA.empty_table(), *self._open]).combine_chunks()
        self._open = []
        return entries

    def is_closed(self) -> bool:
        """Return `True` if no entries are open."""
        return self.begun and not self._open

    def _wait_for(self, entries: pa.Table) -> None:
        if entries.num_rows:
            self._open.append(entries)
