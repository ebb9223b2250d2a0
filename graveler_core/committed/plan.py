"""Plan a change of a tree as independent tasks. Planning reads nodes, never ranges.

Work is split at primary boundary keys (`segments.boundary`) that the changes do not remove. If a change removes the
boundary key at the end of a primary interval, that interval is joined with the next. The result of each task is
therefore independent of the other tasks, and tasks may run anywhere and in any order. Source: the storage model,
"Segments, ranges, metaranges".

If many consecutive entries are removed, no boundary key is left among them, and one task would hold all of them. A
primary interval of large entries may have gigabytes. Such a task is therefore emitted *open*: it returns the entries
after its last boundary, and the next task returns the entries up to its first boundary. When both are done,
`committed.concatenation` joins these entries. The edges of a partition, which is not a whole tree, are open too.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa

from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.cursor import TreeCursor
from graveler_core.committed.node import NodeRow
from graveler_core.committed.split_points import WHOLE, Partition
from graveler_core.committed.trees import Trees, read_node
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.boundary import key_hash, primary_ends
from graveler_core.segments.sorted_keys import KEY, between

REWRITE_MEANS = 4
"""Changes per task, in mean range sizes. The number balances the overhead of a task against the memory of a worker."""
OPEN_MEANS = 2 * REWRITE_MEANS
"""Changes, in mean range sizes, from which a task is emitted even if no boundary closes it."""
HELD_BYTES = 64 << 20
"""Bytes of changes from which a task is emitted, and of ranges that are only a part of a primary interval."""


@dataclass(frozen=True, slots=True)
class Keep:
    """Range (level 0) or subtree that stays unchanged."""

    level: int
    row: NodeRow


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Task: change the entries of a key interval and split them into ranges again."""

    rows: tuple[NodeRow, ...]
    """Ranges of the base with entries in the interval."""
    after: bytes | None
    """The interval begins after this key; `None`: at the first range."""
    through: bytes | None
    """Last key of the interval; `None`: where the last range and the changes end."""
    changes: pa.Table
    """Changes in the interval, in `RECORD_SCHEMA`."""
    open_start: bool = False
    """True if the preceding entries are not closed, so that the entries up to the first boundary belong to them."""
    open_end: bool = False
    """True if the entries after the last boundary do not end a range."""


def plan(
    trees: Trees, base: str | None, changes: ChangeStream, interval: Partition = WHOLE
) -> Iterator[Keep | Rewrite]:
    """Yield, lazily and in key order, the steps that produce the new tree in an interval; a base of `None` has no
    entries.

    Raises:
        InvalidInput: A change is outside the interval.
    """
    return _Plan(trees, base, changes, interval).steps()


class _Plan:
    """Walk over base and changes."""

    def __init__(self, trees: Trees, base: str | None, changes: ChangeStream, interval: Partition) -> None:
        self._trees = trees
        self._base = base
        self._cursor = None if base is None else TreeCursor(trees, base, interval.start, interval.end)
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
        """Raise if the next change is before the interval, when it begins, or after it, when it ends."""
        key = self._changes.peek()
        if key is not None and (key < self._within.start or not self._reaches(key)):
            raise InvalidInput(f"change of key {key!r}: must be inside the key interval of the partition")

    def _reaches(self, key: bytes) -> bool:
        """Return `True` if the interval does not end before a key."""
        return self._within.through is None or key <= self._within.through.key

    def _untouched(self, level: int, row: NodeRow) -> bool:
        """Return `True` if no change is inside the row, and the row begins and ends where nodes of its level do.

        A row that does not end at a boundary of its level is open. It may stay only if nothing follows it.
        """
        key = self._changes.peek()
        if (key is not None and key <= row.max_key) or not self._begins(level, row) or not self._reaches(row.max_key):
            return False
        if key is None and self._within.through is None and self._cursor is not None and self._cursor.at_last():
            return True
        return key_hash(row.max_key, self._trees.boundary_seed) < self._trees.cutting.threshold(level)

    def _begins(self, level: int, row: NodeRow) -> bool:
        """Return `True` if everything before the row is closed below its level. Inside a tree, this held where the row
        begins.
        """
        after = self._within.after
        if self._begun or after is None:
            return True
        closing = key_hash(after.key, self._trees.boundary_seed) < self._trees.cutting.threshold(level)
        return closing and row.min_key > after.key

    def _interval(self) -> Iterator[Keep | Rewrite]:
        """Emit the next primary interval, joined with its successors as long as its edge is removed."""
        first = not self._begun
        pending = _PendingInterval(self._trees, self._within, first=first, divided=first and self._is_divided())
        self._begun = True
        limit = None if self._within.through is None else self._within.through.key
        through: bytes | None = b""
        while through is not None:
            rows, through = self._next_rows()
            pending.extend(rows)
            at_once = self._trees.cutting.mean_entries * REWRITE_MEANS
            while taken := self._changes.take(limit if through is None else through, at_once):
                for table in taken:
                    yield from pending.add(table)
            if through is not None and not pending.removes(through):
                break
        yield from pending.rest(through)

    def _is_divided(self) -> bool:
        """Return `True` if the split point before the partition divides a primary interval of the base."""
        after = self._within.after
        if self._base is None or after is None:
            return False
        row = _last_range(self._trees, self._base, after.key)
        if row is None:
            return False
        closes = key_hash(row.max_key, self._trees.boundary_seed) < self._trees.cutting.threshold()
        return row.max_key > after.key or not closes

    def _next_rows(self) -> tuple[list[NodeRow], bytes | None]:
        """Return the ranges of the next primary interval, and the boundary key that closes it, or `None` if there is
        none.
        """
        rows: list[NodeRow] = []
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


class _PendingInterval:
    """Ranges and changes of a primary interval that are not emitted yet."""

    def __init__(self, trees: Trees, within: Partition, *, first: bool, divided: bool) -> None:
        self._trees = trees
        self._within = within
        self._divided = divided
        """True if a primary interval of the base begins before this one and goes on in it. The base may have cut its
        ranges smaller, because of the size of the whole interval.
        """
        self._open = first and not within.begins_a_range
        self._after = within.after.key if first and within.after is not None else None
        self._rows: list[NodeRow] = []
        self._changes: list[pa.Table] = []
        self._bytes = 0
        """Size of the changes in memory."""
        self._removed: bytes | None = None
        """Key of the last change if that is a removal."""

    def extend(self, rows: list[NodeRow]) -> None:
        """Append ranges to the interval."""
        self._rows += rows

    def add(self, table: pa.Table) -> Iterator[Rewrite]:
        """Add changes. Emit tasks that end at the last boundary the changes put, or that are too large to wait for
        one.
        """
        self._changes.append(table)
        self._bytes += table.nbytes
        last = table.slice(table.num_rows - 1)
        self._removed = last.column(KEY)[0].as_py() if last.column(TOMBSTONE)[0].as_py() else None
        waiting, mean = sum(t.num_rows for t in self._changes), self._trees.cutting.mean_entries
        is_large = self._bytes >= HELD_BYTES
        if waiting < mean * REWRITE_MEANS and not is_large:
            return
        end = _last_boundary(self._trees, table)
        if end > 0 or waiting >= mean * OPEN_MEANS or is_large:
            yield from self._split(table, end)

    def removes(self, key: bytes) -> bool:
        """Return `True` if the last change removes this key."""
        return self._removed == key

    def rest(self, through: bytes | None) -> Iterator[Keep | Rewrite]:
        """Emit everything that is left; `through` closes it, or `None` if no boundary does."""
        open_end = through is None and self._within.through is not None
        if open_end and self._within.through is not None:
            through = self._within.through.key
        if self._changes or (self._rows and (self._open or open_end or self._divided)):
            yield from self._given(self._rows, through, self._changes, open_end=open_end)
        else:
            yield from (Keep(0, row) for row in self._rows)

    def _split(self, table: pa.Table, end: int) -> Iterator[Rewrite]:
        """Emit the changes up to a boundary of the newest table; 0: all of them, open."""
        behind = end or table.num_rows
        through = table.column(KEY)[behind - 1].as_py()
        rows = [row for row in self._rows if row.min_key <= through]
        yield from self._given(rows, through, [*self._changes[:-1], table.slice(0, behind)], open_end=not end)
        self._changes = [table.slice(behind)] if behind < table.num_rows else []
        self._bytes = sum(table.nbytes for table in self._changes)
        self._rows = [row for row in self._rows if row.max_key > through]
        self._after, self._open, self._divided = through, not end, True

    def _given(
        self, rows: list[NodeRow], through: bytes | None, changes: list[pa.Table], *, open_end: bool
    ) -> Iterator[Rewrite]:
        """Emit ranges and changes as one task, or as several tasks if the ranges are too large together."""
        joined = pa.concat_tables(changes or [RECORD_SCHEMA.empty_table()])
        after, open_start = self._after, self._open
        for first, last in pairwise([0, *self._too_large_at(rows), len(rows)]):
            start = rows[first - 1].max_key + b"\0" if first else b""
            if last == len(rows):
                part = between(joined, start)
                yield Rewrite(tuple(rows[first:]), after, through, part, open_start, open_end)
                return
            edge = rows[last - 1].max_key
            part = between(joined, start, edge + b"\0")
            yield Rewrite(tuple(rows[first:last]), after, edge, part, open_start, open_end=True)
            after, open_start = edge, True

    def _too_large_at(self, rows: list[NodeRow]) -> list[int]:
        """Return the positions between ranges at which a task has enough bytes.

        A range that does not end at a primary boundary was cut there because of its size.
        """
        threshold, seed = self._trees.cutting.threshold(), self._trees.boundary_seed
        at_once = max(1, HELD_BYTES // self._trees.cutting.max_bytes)
        large = [end for end, row in enumerate(rows[:-1], 1) if key_hash(row.max_key, seed) >= threshold]
        return large[at_once - 1 :: at_once]


def _last_range(trees: Trees, base: str, key: bytes) -> NodeRow | None:
    """Return the last range of a tree that begins at or before a key."""
    id: str = base
    while True:
        node = read_node(trees, id)
        index = bisect_right(node.rows, key, key=lambda row: row.min_key) - 1
        if index < 0 or node.level == 0:
            return None if index < 0 else node.rows[index]
        id = node.rows[index].id


def _last_boundary(trees: Trees, changes: pa.Table) -> int:
    """Return the position after the last primary boundary key that the changes put, or 0 if they put none."""
    window = trees.cutting.mean_entries
    for end in range(changes.num_rows, 0, -window):
        part = changes.slice(max(0, end - window), min(window, end))
        ends = primary_ends(part.column(KEY), trees.boundary_seed, trees.cutting)
        puts = ends[~part.column(TOMBSTONE).to_numpy()[ends - 1]]
        if len(puts):
            return int(end - part.num_rows + puts[-1])
    return 0
