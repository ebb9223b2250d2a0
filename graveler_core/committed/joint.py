"""Puts together what stands side by side: what one piece of work left open, and what the next found before it closed.

Those entries are one primary interval, or the end of all. They are cut and written here: a range or two for each place
where pieces meet that are not closed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import numpy as np
import pyarrow as pa

from graveler_core.committed.node import Row
from graveler_core.committed.rewrite import write_ranges
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import ENTRY_SCHEMA


class Builder(Protocol):
    """Takes the rows of a tree in key order."""

    def push(self, level: int, row: Row) -> None:
        """Append a range (level 0) or a whole subtree."""
        ...


class Joint:
    """Takes results in key order and gives their rows to a builder; memory is one primary interval.

    Args:
        trees: The repository's trees.
        builder: Gets the rows.
        begun: Whether the first result begins where what stands before it has closed. If not, what is found up to the
            first boundary is `head`.
    """

    def __init__(self, trees: Trees, builder: Builder, *, begun: bool = True) -> None:
        self._trees = trees
        self._builder = builder
        self._open: list[pa.Table] = []
        self.begun = begun
        self.last: bytes | None = None
        """The last key of what the builder has."""
        self.head: pa.Table = ENTRY_SCHEMA.empty_table()

    def take(self, head: pa.Table, bounded: bool, rows: Iterable[tuple[int, Row]], tail: pa.Table) -> None:
        """Go on with a result: entries up to a boundary (`bounded`: it closes them), rows, entries behind the last."""
        self._wait_for(head)
        if bounded:
            self.close()
        for level, row in rows:
            self.keep(level, row)
        self._wait_for(tail)

    def keep(self, level: int, row: Row) -> None:
        """Go on with a row that begins where what stands before it has closed."""
        self._builder.push(level, row)
        self.last = row.max_key

    def close(self) -> None:
        """A boundary has come, or the end of all."""
        if self.is_closed():
            return
        entries = self.rest()
        if not self.begun:
            self.head, self.begun = entries, True
            return
        for row in write_ranges(self._trees, entries, np.array([entries.num_rows])) if entries.num_rows else ():
            self.keep(0, row)

    def rest(self) -> pa.Table:
        """What is open; nothing is afterwards."""
        entries = pa.concat_tables([ENTRY_SCHEMA.empty_table(), *self._open]).combine_chunks()
        self._open = []
        return entries

    def is_closed(self) -> bool:
        """Whether nothing is open."""
        return self.begun and not self._open

    def _wait_for(self, entries: pa.Table) -> None:
        if entries.num_rows:
            self._open.append(entries)
