"""What a change does to a tree, as independent pieces of work. Reads nodes, never ranges.

Work is cut only at primary boundary keys that survive the changes: where a change removes the edge of an interval, the
interval is taken together with the next. So each piece's result is final whatever happens in the others, and pieces
may be done anywhere, in any order. Source: the storage model, "Segments, ranges, metaranges".

Where many entries in a row are removed no boundary survives, and one piece would hold all of them. So the changes are
paused there: the tree is finished with what came so far, and the rest is applied to it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.cursor import Cursor
from graveler_core.committed.node import Row
from graveler_core.committed.trees import Trees
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.boundary import key_hash, primary_ends
from graveler_core.segments.sorted_keys import KEY

REWRITE_MEANS = 4
"""Changes of one piece of work, in mean sizes of a range: enough to keep a worker busy, few enough for its memory."""
REMOVAL_MEANS = 2 * REWRITE_MEANS
"""Removals of one piece of work, likewise, from which on the changes are paused."""


@dataclass(frozen=True, slots=True)
class Keep:
    """A range (level 0) or subtree that stays as it is."""

    level: int
    row: Row


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Entries of a key interval to be changed and cut anew. The interval begins after a surviving primary boundary."""

    rows: tuple[Row, ...]
    """The ranges of the base that hold entries of the interval."""
    after: bytes | None
    """The interval begins after this key; None: where the first range does."""
    through: bytes | None
    """The interval's last key; None: where the last range and the changes end."""
    changes: pa.Table
    """Those of the interval, `RECORD_SCHEMA`."""


def plan(trees: Trees, base: str | None, changes: ChangeStream) -> Iterator[Keep | Rewrite]:
    """Everything that makes up the new tree, in key order, lazily; a base of None has no entries.

    Where the changes were paused, it is the tree of those before: go on with it.
    """
    cursor = None if base is None else Cursor(trees, base)
    while cursor is not None and (ahead := cursor.peek()) is not None:
        level, row = ahead
        if _untouched(trees, cursor, ahead, changes.peek()):
            cursor.step()
            yield Keep(level, row)
        elif level > 0:
            cursor.descend()
        else:
            yield from _interval(trees, cursor, changes)
    if changes.peek() is not None:
        yield from _interval(trees, cursor, changes)


def _untouched(trees: Trees, cursor: Cursor, ahead: tuple[int, Row], key: bytes | None) -> bool:
    """Whether no change falls into the row, given that it begins where what came before has closed.

    A row whose own end is no boundary of its level is open: only where nothing follows may it stay.
    """
    level, row = ahead
    if key is None and cursor.at_last():
        return True
    if key is not None and key <= row.max_key:
        return False
    return key_hash(row.max_key, trees.boundary_seed) < trees.cutting.threshold(level)


def _interval(trees: Trees, cursor: Cursor | None, changes: ChangeStream) -> Iterator[Keep | Rewrite]:
    """The primary interval ahead, joined with the next as long as its edge is removed."""
    parts = _Parts(trees)
    through: bytes | None = b""
    while through is not None:
        rows, through = _next_rows(trees, cursor)
        parts.rows += rows
        while taken := changes.take(through, trees.cutting.mean_entries * REWRITE_MEANS):
            for table in taken:
                parts.changes.append(table)
                yield from parts.split(table)
            if parts.removals() >= trees.cutting.mean_entries * REMOVAL_MEANS:
                changes.pause()
        if through is not None and not parts.removes(through):
            break
    yield from parts.rest(through)


def _next_rows(trees: Trees, cursor: Cursor | None) -> tuple[list[Row], bytes | None]:
    """The ranges of the primary interval ahead, and the boundary key that closes it; None where nothing does."""
    rows: list[Row] = []
    while cursor is not None and (ahead := cursor.peek()) is not None:
        level, row = ahead
        if level > 0:
            cursor.descend()
            continue
        cursor.step()
        rows.append(row)
        if key_hash(row.max_key, trees.boundary_seed) < trees.cutting.threshold():
            return rows, row.max_key
    return rows, None


class _Parts:
    """What is known of an interval and not yet given away."""

    def __init__(self, trees: Trees) -> None:
        self._trees = trees
        self.rows: list[Row] = []
        self.changes: list[pa.Table] = []
        self._after: bytes | None = None

    def removes(self, key: bytes) -> bool:
        """Whether the last change removes this key."""
        if not self.changes:
            return False
        last = self.changes[-1].slice(self.changes[-1].num_rows - 1)
        return bool(last.column(KEY)[0].as_py() == key and last.column(TOMBSTONE)[0].as_py())

    def removals(self) -> int:
        """How many changes remove a key."""
        return sum(pc.sum(table.column(TOMBSTONE)).as_py() for table in self.changes)

    def split(self, table: pa.Table) -> Iterator[Rewrite]:
        """Give away what ends at the last boundary key put by the newest table of changes, if there is enough."""
        enough = self._trees.cutting.mean_entries * REWRITE_MEANS
        if sum(t.num_rows for t in self.changes) < enough:
            return
        end = _last_boundary(self._trees, table)
        if end == 0:
            return
        through = table.column(KEY)[end - 1].as_py()
        given = [*self.changes[:-1], table.slice(0, end)]
        yield Rewrite(tuple(r for r in self.rows if r.min_key <= through), self._after, through, _joined(given))
        self.changes = [table.slice(end)] if end < table.num_rows else []
        self.rows = [r for r in self.rows if r.max_key > through]
        self._after = through

    def rest(self, through: bytes | None) -> Iterator[Keep | Rewrite]:
        """Give away everything."""
        if self.changes or (self._after is not None and self.rows):
            yield Rewrite(tuple(self.rows), self._after, through, _joined(self.changes))
        else:
            yield from (Keep(0, row) for row in self.rows)


def _last_boundary(trees: Trees, changes: pa.Table) -> int:
    """Position behind the last primary boundary key that the changes put; 0 where they put none."""
    window = trees.cutting.mean_entries
    for end in range(changes.num_rows, 0, -window):
        part = changes.slice(max(0, end - window), min(window, end))
        ends = primary_ends(part.column(KEY), trees.boundary_seed, trees.cutting)
        puts = ends[~part.column(TOMBSTONE).to_numpy()[ends - 1]]
        if len(puts):
            return int(end - part.num_rows + puts[-1])
    return 0


def _joined(tables: list[pa.Table]) -> pa.Table:
    return pa.concat_tables(tables or [RECORD_SCHEMA.empty_table()])
