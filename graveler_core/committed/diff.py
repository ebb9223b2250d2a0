"""Compute the difference of two trees without reading shared content.

Ranges and subtrees that are in both trees cancel by id. An id is the hash of the content, so equal ids mean equal
entries in the same key interval. The remaining ranges are read one by one and paired by key. At most about two
ranges per side are in memory, even if the trees share no boundary.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.committed.cursor import TreeCursor
from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import ALL, DECISIVE, Trees, glance
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.model.key_intervals import key_interval
from graveler_core.segments.merge import as_records, identities, paired
from graveler_core.segments.sorted_keys import KEY, between, lower_bound

SIDE_SCHEMA = pa.schema([field.with_nullable(True) for field in RECORD_SCHEMA if field.name != TOMBSTONE])
"""Columns of an entry; all of them, also the key, are null in rows where a side has no entry."""
_BESIDE_IDENTITY = ("mtime", "address")
"""Columns that may differ between entries of the same identity."""


@dataclass(frozen=True, slots=True)
class WantedColumns:
    """Columns that a caller needs of each state: `ALL` or `DECISIVE`. Other columns are not decoded."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    exact: bool = False
    """True to include keys whose entries are equal by identity but differ in time or address. Requires all columns."""


STATES = WantedColumns(ALL, ALL)
EXACT = WantedColumns(ALL, ALL, exact=True)
CHANGES = WantedColumns(DECISIVE, ALL)
"""Columns needed by `as_changes`."""
KEYS = WantedColumns(DECISIVE, DECISIVE)


@dataclass(frozen=True, slots=True)
class Differences:
    """Keys at which two states differ, in order, with the entries of both states."""

    keys: pa.Array
    """Binary array without nulls."""
    before: pa.Table
    """Requested columns of `SIDE_SCHEMA`, one row per key; all null where the key was added."""
    after: pa.Table
    """Requested columns of `SIDE_SCHEMA`, one row per key; all null where the key was removed."""

    def __len__(self) -> int:
        return len(self.keys)

    def filter(self, kept: pa.Array | pa.ChunkedArray) -> Differences:
        """Return the rows where `kept` is true."""
        return Differences(self.keys.filter(kept), self.before.filter(kept), self.after.filter(kept))

    def slice(self, start: int, length: int) -> Differences:
        """Return `length` rows from `start`, without copying."""
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
    wanted: WantedColumns = STATES,
) -> Iterator[Differences]:
    """Yield the differences from `left` (before) to `right` (after), at keys with `prefix` and `start` ≤ key < `end`.

    The iterator is lazy. Its items are not empty, and keys ascend across all of them. Entries are equal if they have
    the same identity, that is, if they differ only in key, address or mtime.

    Raises:
        CorruptData: A node or range that had to be read is missing or damaged.
    """
    if left == right:
        return
    first, last = key_interval(prefix, start, end)
    sides = _Side(trees, left, (first, last), wanted.before), _Side(trees, right, (first, last), wanted.after)
    while (row := _next_range(*sides)) is not None:
        yield from _compared(*sides, row[1].min_key, exact=wanted.exact)
        row[0].read(row[1])
    yield from _compared(*sides, None, exact=wanted.exact)


def unshared(
    trees: Trees, left: MetarangeId, right: MetarangeId, span: tuple[bytes, bytes | None]
) -> Iterator[NodeRow]:
    """Yield the ranges that are in only one of two trees, ordered by first key: the ranges that `diff` would read.
    Lazy.
    """
    sides = _Side(trees, left, span, ALL), _Side(trees, right, span, ALL)
    while left != right and (found := _next_range(*sides)) is not None:
        yield found[1]


class _Side:
    """One tree of a comparison: a cursor, and entries that were read but not compared yet."""

    def __init__(
        self, trees: Trees, root: MetarangeId, interval: tuple[bytes, bytes | None], columns: tuple[str, ...]
    ) -> None:
        self.cursor = TreeCursor(trees, root, *interval)
        self._trees = trees
        self._interval = interval
        self._columns = columns
        self._read: pa.Table = ENTRY_SCHEMA.empty_table().select(columns)

    def read(self, row: NodeRow) -> None:
        """Read a range and append its entries."""
        entries = between(glance(self._trees, row, self._columns).select(self._columns), *self._interval)
        self._read = pa.concat_tables([self._read, entries]) if self._read.num_rows else entries

    def take(self, before: bytes | None) -> pa.Table:
        """Return the entries read with keys below `before` (`None`: all), and remove them here."""
        end = self._read.num_rows if before is None else lower_bound(self._read.column(KEY), before)
        taken = self._read.slice(0, end)
        self._read = self._read.slice(end)
        return taken


def _next_range(left: _Side, right: _Side) -> tuple[_Side, NodeRow] | None:
    """Skip rows that both sides share, descend into nodes, and return the first range that is on one side only.

    Of two rows, the one with the smaller min key is processed first: on the other side, an equal row can only be
    ahead.
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


def _first(left: tuple[int, NodeRow] | None, right: tuple[int, NodeRow] | None) -> tuple[bool, bool] | None:
    """Return the sides to advance: the side that begins first. If both begin at the same key: the higher level, or
    both.
    """
    if left is None and right is None:
        return None
    if left is None or right is None:
        return left is not None, right is not None
    order = [(row.min_key, -level) for level, row in (left, right)]
    return order[0] <= order[1], order[1] <= order[0]


def _compared(left: _Side, right: _Side, before: bytes | None, *, exact: bool) -> Iterator[Differences]:
    """Compare the entries that both sides read with keys below `before`."""
    found = differences(left.take(before), right.take(before), exact=exact)
    if len(found):
        yield found


def differences(before: pa.Table, after: pa.Table, *, exact: bool = False) -> Differences:
    """Pair two sorted tables by key and return the rows that differ.

    Args:
        before: Table with all or the decisive columns of `ENTRY_SCHEMA`.
        after: Table with the same columns.
        exact: Include entries that are equal by identity but differ in time or address.
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
    """Return a mask of the rows at which two columns are equal; two nulls are equal."""
    alike = pc.fill_null(pc.equal(left, right), pc.and_(left.is_null(), right.is_null()))
    found: NDArray[np.bool_] = alike.to_numpy()
    return found


def joined(parts: Sequence[Differences]) -> Differences:
    """Merge differences at distinct keys into one, sorted by key."""
    keys = pa.concat_arrays([part.keys for part in parts])
    order = pc.sort_indices(keys)
    before, after = (pa.concat_tables([getattr(part, side) for part in parts]) for side in ("before", "after"))
    return Differences(keys.take(order), before.take(order), after.take(order))


def as_changes(found: Differences) -> pa.Table:
    """Return the changes that turn the state before into the state after, in `RECORD_SCHEMA`."""
    absent = found.after.column(KEY).is_null()
    filled = found.after.set_column(0, RECORD_SCHEMA.field(KEY), found.keys)
    return as_records(filled, absent.combine_chunks())


def aligned(keys: pa.Array, entries: pa.Table) -> pa.Table:
    """Return the entry at each of `keys`, from sorted entries, in `SIDE_SCHEMA`; all null where there is no entry."""
    rows = pc.index_in(keys, value_set=entries.column(KEY).combine_chunks()).fill_null(-1)
    return _rows(entries, rows.to_numpy().astype(np.int64))


def _rows(table: pa.Table, rows: NDArray[np.int64]) -> pa.Table:
    """Return rows of a table by number, all null for number -1."""
    schema = pa.schema(map(SIDE_SCHEMA.field, table.column_names))
    if len(rows) == table.num_rows and (rows == np.arange(len(rows))).all():
        return pa.Table.from_arrays(table.columns, schema=schema)
    taken = table.combine_chunks().take(pa.array(rows, mask=rows < 0))
    return pa.Table.from_arrays(taken.columns, schema=schema)
