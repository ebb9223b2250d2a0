"""Join the results of neighbouring tasks: the entries that one task left open, and those that the next task found
before its first boundary.

Together these entries form one primary interval (`segments.boundary`), or the end of the tree. They are split into
ranges and written here. Each pair of tasks that do not meet at a boundary costs one or two ranges. An interval of
large entries is divided step by step: the ranges that do not depend on what follows are written at once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Protocol

import pyarrow as pa

from graveler_core.committed.node import NodeRow
from graveler_core.committed.rewrite import write_ranges
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import ENTRY_SCHEMA
from graveler_core.segments.boundary import bytes_before, cut_oversize
from graveler_core.segments.sorted_keys import KEY

_OPEN_RANGES = 2
"""Bytes of open entries, in maximum sizes of a range, from which they are divided."""


class Builder(Protocol):
    """Builder that takes the rows of a tree in key order."""

    def push(self, level: int, row: NodeRow) -> None:
        """Append a range (level 0) or a whole subtree."""


class Joint:
    """Joins results in key order and passes their rows to a builder. Memory: a few ranges, or one primary interval of a
    partition.

    Args:
        trees: The repository's trees.
        builder: Receives the rows.
        begun: `True` if everything before the first result is closed. If `False`, the entries up to the first boundary
            become `head`.
        partition: `True` if following partitions may continue the last primary interval, so that `rest` must return it
            as a whole.
    """

    def __init__(self, trees: Trees, builder: Builder, *, begun: bool = True, partition: bool = False) -> None:
        self._trees = trees
        self._builder = builder
        self._partition = partition
        self._open: list[pa.Table] = []
        self._bytes = 0
        """Size of the open entries in memory."""
        self._level = 0
        """Level of `cut_oversize` at which the open entries begin."""
        self._present: set[str] = set()
        """Ids of ranges that are stored already."""
        self.begun = begun
        self.last: bytes | None = None
        """Last key that was passed to the builder."""
        self.head: pa.Table = ENTRY_SCHEMA.empty_table()

    def take(
        self,
        head: pa.Table,
        bounded: bool,
        rows: Iterable[tuple[int, NodeRow]],
        tail: pa.Table,
        present: Collection[str] = (),
    ) -> None:
        """Append a result.

        Args:
            head: Entries up to the first boundary.
            bounded: `True` if a boundary closes `head`.
            rows: Rows with their levels.
            tail: Entries after the last boundary.
            present: Ids of stored ranges that `head` and `tail` may contain.
        """
        self._present.update(present)
        self._wait_for(head)
        if bounded:
            self.close()
            self._present = set(present)
        for level, row in rows:
            self.keep(level, row)
        self._wait_for(tail)

    def keep(self, level: int, row: NodeRow) -> None:
        """Append a row that begins where everything before it is closed."""
        self._builder.push(level, row)
        self.last = row.max_key

    def close(self) -> None:
        """Close the open entries at a boundary, or at the end of the tree."""
        if not self.begun:
            self.head, self.begun = self.rest(), True
        elif self._open:
            self._divide(closed=True)
        self._level = 0

    def rest(self) -> pa.Table:
        """Return the open entries, and forget them."""
        entries = pa.concat_tables([ENTRY_SCHEMA.empty_table(), *self._open]).combine_chunks()
        self._open, self._bytes = [], 0
        return entries

    def is_closed(self) -> bool:
        """Return `True` if no entries are open."""
        return self.begun and not self._open

    def _wait(self, entries: pa.Table) -> None:
        if entries.num_rows:
            self._open.append(entries)
            self._bytes += entries.nbytes

    def _wait_for(self, entries: pa.Table) -> None:
        self._wait(entries)
        may_divide = self.begun and not self._partition
        if may_divide and self._bytes > _OPEN_RANGES * self._trees.cutting.max_bytes:
            self._divide(closed=False)

    def _divide(self, *, closed: bool) -> None:
        """Write the ranges of the open entries that nothing changes that may follow."""
        entries, trees = self.rest(), self._trees
        before, cutting = bytes_before(entries), trees.cutting
        ends, level = [entries.num_rows], 0
        if not closed or self._level or before[-1] > cutting.max_bytes:
            ends, level = cut_oversize(
                entries.column(KEY), before, trees.boundary_seed, cutting, self._level, closed=closed
            )
        for row in write_ranges(trees, entries, ends, present=self._present):
            self.keep(0, row)
        left = entries.slice(ends[-1] if ends else 0)
        self._level = level
        self._wait(left)
