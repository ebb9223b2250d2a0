"""What differs between two trees, without reading what they share.

Ranges and subtrees that stand on both sides cancel by id: an id is the hash of the content, so equal ids hold equal
entries in the same key interval. What is left is read range by range and paired by key; at no time is more than some
two ranges a side in memory, also where the trees share no boundary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.committed.cursor import Cursor
from graveler_core.committed.node import Row
from graveler_core.committed.scan import key_interval
from graveler_core.committed.trees import ALL, DECISIVE, Trees, glance
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.merge import as_records, identities, paired
from graveler_core.segments.sorted_keys import KEY, between, lower_bound

SIDE_SCHEMA = pa.schema([field.with_nullable(True) for field in RECORD_SCHEMA if field.name != TOMBSTONE])
"""An entry's columns, all null (the key too) in rows where a side has no entry."""
_BESIDE_IDENTITY = ("mtime", "address")
"""The columns in which entries of one identity may differ."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that a caller wants of either state: `ALL` or `DECISIVE`. Others are not decoded."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    exact: bool = False
    """Whether keys are wanted too at which both states have one entry by identity, at another time or address. Needs
    all columns."""


STATES = Wanted(ALL, ALL)
EXACT = Wanted(ALL, ALL, exact=True)
CHANGES = Wanted(DECISIVE, ALL)
"""For `as_changes`."""
KEYS = Wanted(DECISIVE, DECISIVE)


@dataclass(frozen=True, slots=True)
class Differences:
    """Keys at which two states differ, in order, and what each state has there."""

    keys: pa.Array
    """Binary, none null."""
    before: pa.Table
    """The wanted columns of `SIDE_SCHEMA`, row by row as `keys`; all null where the key was added."""
    after: pa.Table
    """The wanted columns of `SIDE_SCHEMA`, row by row as `keys`; all null where the key was removed."""

    def __len__(self) -> int:
        return len(self.keys)

    def filter(self, kept: pa.Array | pa.ChunkedArray) -> Differences:
        """Those of the rows for which it says true."""
        return Differences(self.keys.filter(kept), self.before.filter(kept), self.after.filter(kept))

    def slice(self, start: int, length: int) -> Differences:
        """Some of the rows, without copying."""
        return Differences(
            self.keys.slice(start, length), self.before.slice(start, length), self.after.slice(start, length)
        )


def diff(  # noqa: PLR0913 - the key interval as `scan` takes it
    trees: Trees,
    left: MetarangeId,
    right: MetarangeId,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
    wanted: Wanted = STATES,
) -> Iterator[Differences]:
    """Where `right` (after) differs from `left` (before), at keys that begin with `prefix`, `start` ≤ key < `end`.

    Lazy; none is empty; keys rise over all of them. Entries that differ in key, address or mtime only by the rules of
    identity (same content again) are equal.

    Raises:
        CorruptData: a node or range that had to be read is missing or damaged.
    """
    if left == right:
        return
    first, last = key_interval(prefix, start, end)
    sides = _Side(trees, left, (first, last), wanted.before), _Side(trees, right, (first, last), wanted.after)
    while (row := _next_range(*sides)) is not None:
        yield from _compared(*sides, row[1].min_key, exact=wanted.exact)
        row[0].read(row[1])
    yield from _compared(*sides, None, exact=wanted.exact)


def unshared(trees: Trees, left: MetarangeId, right: MetarangeId, span: tuple[bytes, bytes | None]) -> Iterator[Row]:
    """The ranges that stand in one of two trees alone, by their first keys: those that `diff` would read. Lazy."""
    sides = _Side(trees, left, span, ALL), _Side(trees, right, span, ALL)
    while left != right and (found := _next_range(*sides)) is not None:
        yield found[1]


class _Side:
    """One tree: what is ahead of the cursor, and what was read and not yet compared."""

    def __init__(
        self, trees: Trees, root: MetarangeId, interval: tuple[bytes, bytes | None], columns: tuple[str, ...]
    ) -> None:
        self.cursor = Cursor(trees, root, *interval)
        self._trees = trees
        self._interval = interval
        self._columns = columns
        self._read: pa.Table = ENTRY_SCHEMA.empty_table().select(columns)

    def read(self, row: Row) -> None:
        """Take in a range, behind what is there."""
        entries = between(glance(self._trees, row, self._columns), *self._interval)
        self._read = pa.concat_tables([self._read, entries]) if self._read.num_rows else entries

    def take(self, before: bytes | None) -> pa.Table:
        """Give what was read of the keys before one (None: all)."""
        end = self._read.num_rows if before is None else lower_bound(self._read.column(KEY), before)
        taken = self._read.slice(0, end)
        self._read = self._read.slice(end)
        return taken


def _next_range(left: _Side, right: _Side) -> tuple[_Side, Row] | None:
    """Pass what both sides share, go into nodes, and take the first range that stands on one side alone.

    Of two rows the one that begins first is gone into or taken: its like on the other side can only be ahead there.
    """
    while True:
        ahead = left.cursor.peek(), right.cursor.peek()
        if ahead[0] is not None and ahead[1] is not None and ahead[0][1].id == ahead[1][1].id:
            left.cursor.step()
            right.cursor.step()
            continue
        choice = _first(*ahead)
        if choice is None:
            return None
        for side, is_chosen in zip((left, right), choice, strict=True):
            if not is_chosen or (top := side.cursor.peek()) is None:
                continue
            if top[0] == 0:
                side.cursor.step()
                return side, top[1]
            side.cursor.descend()


def _first(left: tuple[int, Row] | None, right: tuple[int, Row] | None) -> tuple[bool, bool] | None:
    """Which sides to go on with: the one that begins first; where both do, the higher level, or both."""
    if left is None and right is None:
        return None
    if left is None or right is None:
        return left is not None, right is not None
    order = [(row.min_key, -level) for level, row in (left, right)]
    return order[0] <= order[1], order[1] <= order[0]


def _compared(left: _Side, right: _Side, before: bytes | None, *, exact: bool) -> Iterator[Differences]:
    """Compare what both sides have read of the keys before one."""
    found = differences(left.take(before), right.take(before), exact=exact)
    if len(found):
        yield found


def differences(before: pa.Table, after: pa.Table, *, exact: bool = False) -> Differences:
    """Pair two sorted tables, of all or the decisive columns of `ENTRY_SCHEMA`, by key, and keep what differs.

    Args:
        exact: Keep also what is equal by identity, and not in time or address.
    """
    pairs = paired(before, after)
    both = np.flatnonzero((pairs.left >= 0) & (pairs.right >= 0))
    same = (identities(before)[pairs.left[both]] == identities(after)[pairs.right[both]]).all(axis=1)
    for name in _BESIDE_IDENTITY if exact else ():
        same &= _equal(before.column(name).take(pairs.left[both]), after.column(name).take(pairs.right[both]))
    differs = np.ones(len(pairs.left), np.bool_)
    differs[both[same]] = False
    sides = [_rows(before, pairs.left[differs]), _rows(after, pairs.right[differs])]
    keys = pc.coalesce(*(side.column(KEY) for side in sides)).combine_chunks()
    return Differences(keys, *sides)


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> NDArray[np.bool_]:
    """Where two columns are equal, row by row; nulls are."""
    alike = pc.fill_null(pc.equal(left, right), pc.and_(left.is_null(), right.is_null()))
    found: NDArray[np.bool_] = alike.to_numpy()
    return found


def joined(parts: Sequence[Differences]) -> Differences:
    """Differences at distinct keys as one, sorted."""
    keys = pa.concat_arrays([part.keys for part in parts])
    order = pc.sort_indices(keys)
    before, after = (pa.concat_tables([getattr(part, side) for part in parts]) for side in ("before", "after"))
    return Differences(keys.take(order), before.take(order), after.take(order))


def as_changes(found: Differences) -> pa.Table:
    """What leads from the state before to the state after, in `RECORD_SCHEMA`."""
    absent = found.after.column(KEY).is_null()
    filled = found.after.set_column(0, RECORD_SCHEMA.field(KEY), found.keys)
    return as_records(filled, absent.combine_chunks())


def aligned(keys: pa.Array, entries: pa.Table) -> pa.Table:
    """What sorted entries have at each of some keys, in `SIDE_SCHEMA`, all null where they have none."""
    rows = pc.index_in(keys, value_set=entries.column(KEY).combine_chunks()).fill_null(-1)
    return _rows(entries, rows.to_numpy().astype(np.int64))


def _rows(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Some rows of a table, all null where the number is -1."""
    taken = table.combine_chunks().take(pa.array(rows, mask=rows < 0))
    return pa.Table.from_arrays(taken.columns, schema=pa.schema(map(SIDE_SCHEMA.field, table.column_names)))
