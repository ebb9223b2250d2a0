"""What a change does to a tree, as independent pieces of work. Reads nodes, never ranges.

Work is cut at primary boundary keys that survive the changes: where a change removes the edge of an interval, the
interval is taken together with the next. So each piece's result is final whatever happens in the others, and pieces
may be done anywhere, in any order. Source: the storage model, "Segments, ranges, metaranges".

Where many entries in a row are removed no boundary survives, and one piece would hold all of them. So it is given away
open: it hands back what it has not closed, and so does the next what it finds up to its first boundary; those are put
together when both are done (`committed.joint`). The edges of an interval that is no whole tree are open likewise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.cursor import Cursor
from graveler_core.committed.interval import WHOLE, Interval
from graveler_core.committed.node import Row
from graveler_core.committed.trees import Trees
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.boundary import key_hash, primary_ends
from graveler_core.segments.sorted_keys import KEY

REWRITE_MEANS = 4
"""Changes of one piece of work, in mean sizes of a range: enough to keep a worker busy, few enough for its memory."""
OPEN_MEANS = 2 * REWRITE_MEANS
"""Likewise, from which on a piece is given away though no boundary closes it."""


@dataclass(frozen=True, slots=True)
class Keep:
    """A range (level 0) or subtree that stays as it is."""

    level: int
    row: Row


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Entries of a key interval to be changed and cut anew."""

    rows: tuple[Row, ...]
    """The ranges of the base that hold entries of the interval."""
    after: bytes | None
    """The interval begins after this key; None: where the first range does."""
    through: bytes | None
    """The interval's last key; None: where the last range and the changes end."""
    changes: pa.Table
    """Those of the interval, `RECORD_SCHEMA`."""
    open_start: bool = False
    """What stands before has not closed: what is found up to the first boundary belongs to it."""
    open_end: bool = False
    """What stands behind the last boundary is not the end of a range."""


def plan(trees: Trees, base: str | None, changes: ChangeStream, interval: Interval = WHOLE) -> Iterator[Keep | Rewrite]:
    """Everything that makes up the new tree in an interval, in key order, lazily; a base of None has no entries.

    Raises:
        InvalidInput: a change is outside of the interval.
    """
    cursor = None if base is None else Cursor(trees, base, interval.start, interval.end)
    return _Plan(trees, cursor, changes, interval).steps()


class _Plan:
    """A walk over base and changes."""

    def __init__(self, trees: Trees, cursor: Cursor | None, changes: ChangeStream, interval: Interval) -> None:
        self._trees = trees
        self._cursor = cursor
        self._changes = changes
        self._within = interval
        self._begun = False

    def steps(self) -> Iterator[Keep | Rewrite]:
        self._require_inside()
        if not self._within.begins_a_range:
            yield from self._interval()
        while self._cursor is not None and (ahead := self._cursor.peek()) is not None:
            level, row = ahead
            if self._untouched(level, row):
                self._cursor.step()
                self._begun = True
                yield Keep(level, row)
            elif level > 0:
                self._cursor.descend()
            else:
                yield from self._interval()
        if self._changes.peek() is not None:
            yield from self._interval()
        self._require_inside()

    def _require_inside(self) -> None:
        """No change is ahead that stands outside: before the interval when it begins, behind it when it ends."""
        key = self._changes.peek()
        if key is not None and (key < self._within.start or not self._reaches(key)):
            raise InvalidInput(f"a change of {key!r} is outside of the keys that are worked on")

    def _reaches(self, key: bytes) -> bool:
        """Whether the interval does not end before a key."""
        return self._within.through is None or key <= self._within.through.key

    def _untouched(self, level: int, row: Row) -> bool:
        """Whether no change falls into the row, and it begins and ends where nodes of its level do.

        A row whose own end is no boundary of its level is open: only where nothing follows may it stay.
        """
        key = self._changes.peek()
        if (key is not None and key <= row.max_key) or not self._begins(level, row) or not self._reaches(row.max_key):
            return False
        if key is None and self._within.through is None and self._cursor is not None and self._cursor.at_last():
            return True
        return key_hash(row.max_key, self._trees.boundary_seed) < self._trees.cutting.threshold(level)

    def _begins(self, level: int, row: Row) -> bool:
        """Whether what stands before the row has closed below its level. Inside a tree it did where the row begins."""
        after = self._within.after
        if self._begun or after is None:
            return True
        closing = key_hash(after.key, self._trees.boundary_seed) < self._trees.cutting.threshold(level)
        return closing and row.min_key > after.key

    def _interval(self) -> Iterator[Keep | Rewrite]:
        """The primary interval ahead, joined with the next as long as its edge is removed."""
        parts = _Parts(self._trees, self._within, first=not self._begun)
        self._begun = True
        limit = None if self._within.through is None else self._within.through.key
        through: bytes | None = b""
        while through is not None:
            rows, through = self._next_rows()
            parts.extend(rows)
            at_once = self._trees.cutting.mean_entries * REWRITE_MEANS
            while taken := self._changes.take(limit if through is None else through, at_once):
                for table in taken:
                    yield from parts.add(table)
            if through is not None and not parts.removes(through):
                break
        yield from parts.rest(through)

    def _next_rows(self) -> tuple[list[Row], bytes | None]:
        """The ranges of the primary interval ahead, and the boundary key that closes it; None where nothing does."""
        rows: list[Row] = []
        while self._cursor is not None and (ahead := self._cursor.peek()) is not None:
            level, row = ahead
            if level > 0:
                self._cursor.descend()
                continue
            self._cursor.step()
            rows.append(row)
            closes = key_hash(row.max_key, self._trees.boundary_seed) < self._trees.cutting.threshold()
            if closes and self._reaches(row.max_key):
                return rows, row.max_key
        return rows, None


class _Parts:
    """What is known of a primary interval and not yet given away."""

    def __init__(self, trees: Trees, within: Interval, *, first: bool) -> None:
        self._trees = trees
        self._within = within
        self._open = first and not within.begins_a_range
        self._after = within.after.key if first and within.after is not None else None
        self._rows: list[Row] = []
        self._changes: list[pa.Table] = []
        self._removed: bytes | None = None
        """The key of the last change, where that removes it."""

    def extend(self, rows: list[Row]) -> None:
        """The interval goes on with these ranges."""
        self._rows += rows

    def add(self, table: pa.Table) -> Iterator[Rewrite]:
        """Take changes in; give away what ends at the last boundary that they put, or is too much to wait for one."""
        self._changes.append(table)
        last = table.slice(table.num_rows - 1)
        self._removed = last.column(KEY)[0].as_py() if last.column(TOMBSTONE)[0].as_py() else None
        waiting, mean = sum(t.num_rows for t in self._changes), self._trees.cutting.mean_entries
        if waiting < mean * REWRITE_MEANS:
            return
        end = _last_boundary(self._trees, table)
        if end > 0 or waiting >= mean * OPEN_MEANS:
            yield self._split(table, end)

    def removes(self, key: bytes) -> bool:
        """Whether the last change removes this key."""
        return self._removed == key

    def rest(self, through: bytes | None) -> Iterator[Keep | Rewrite]:
        """Give away everything; `through` closes it, None: nothing does."""
        open_end = through is None and self._within.through is not None
        if open_end and self._within.through is not None:
            through = self._within.through.key
        if self._changes or (self._rows and (self._open or open_end or self._cuts_into_rows())):
            yield self._given(self._rows, through, self._changes, open_end=open_end)
        else:
            yield from (Keep(0, row) for row in self._rows)

    def _cuts_into_rows(self) -> bool:
        return self._after is not None and self._rows[0].min_key <= self._after

    def _split(self, table: pa.Table, end: int) -> Rewrite:
        """Give away the changes up to a boundary of the newest table; 0: all of them, open."""
        behind = end or table.num_rows
        through = table.column(KEY)[behind - 1].as_py()
        rows = [row for row in self._rows if row.min_key <= through]
        given = self._given(rows, through, [*self._changes[:-1], table.slice(0, behind)], open_end=not end)
        self._changes = [table.slice(behind)] if behind < table.num_rows else []
        self._rows = [row for row in self._rows if row.max_key > through]
        self._after, self._open = through, not end
        return given

    def _given(self, rows: list[Row], through: bytes | None, changes: list[pa.Table], *, open_end: bool) -> Rewrite:
        joined = pa.concat_tables(changes or [RECORD_SCHEMA.empty_table()])
        return Rewrite(tuple(rows), self._after, through, joined, self._open, open_end)


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
