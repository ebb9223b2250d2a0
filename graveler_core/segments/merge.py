"""Functions on sorted tables: newest record wins, application of changes to entries, and alignment of two tables. Pure
and columnar.

Keys are compared as bytes. The memory of a function is proportional to its tables; the caller limits their size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.codec.columns import fixed_rows
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.sorted_keys import KEY, positions

IDENTITY = "identity"


class ChangeEffect(NamedTuple):
    """Effect of changes on entries."""

    effective: pa.Table
    """Changes that changed something, in `RECORD_SCHEMA`."""
    added: int
    changed: int
    removed: int


class AppliedChanges(NamedTuple):
    """Result of `apply_changes`."""

    entries: pa.Table
    """The new entries, in `ENTRY_SCHEMA`."""
    effective: pa.Table
    """The same as in `ChangeEffect`, as are the numbers."""
    added: int
    changed: int
    removed: int


class Pairs(NamedTuple):
    """Union of the keys of two sorted tables, in order, as row numbers; -1 if a table does not have the key."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]


def newest_wins(tables: Sequence[pa.Table]) -> pa.Table:
    """Merge sorted tables of one schema into one sorted table with each key once. For equal keys the first listed table
    wins.
    """
    filled = [table for table in tables if table.num_rows]
    if len(filled) < 2:
        return filled[0] if filled else tables[0]
    return pa.concat_tables(filled).combine_chunks().take(pa.array(_newest_rows(filled)))


def apply_changes(entries: pa.Table, changes: pa.Table, *, verbatim: bool = False) -> AppliedChanges:
    """Apply changes to entries. Both tables must be sorted, with each key at most once.

    Changes without effect (equal identity, or a tombstone of an absent key) are dropped, and the old entry keeps its
    mtime and address. With `verbatim` a change of equal identity is effective and replaces the entry.
    """
    at, found = positions(entries.column(KEY), changes.column(KEY))
    if verbatim:
        effective: NDArray[np.bool_] = np.where(_flags(changes.column(TOMBSTONE)), found, True)
    else:
        effective = _effective(entries, changes, at, found)
    return AppliedChanges(_overlaid(entries, changes, at, found, effective), *_effect(changes, found, effective))


def effect(entries: pa.Table, changes: pa.Table) -> ChangeEffect:
    """Return the effect of `apply_changes` on entries with known keys and identities, without the resulting entries."""
    at, found = positions(entries.column(KEY), changes.column(KEY))
    return _effect(changes, found, _effective(entries, changes, at, found))


def overlay(entries: pa.Table, records: pa.Table) -> pa.Table:
    """Return the entries that are visible when records lie over entries. Both tables must be sorted, with each key at
    most once.

    Only keys decide. Rows are copied only if some rows of a table are visible and others are not.
    """
    puts = live(records)
    if entries.num_rows == 0 or records.num_rows == 0:
        return puts if entries.num_rows == 0 else entries
    if puts.num_rows == 0 and entries.num_rows == records.num_rows and entries[KEY].equals(records[KEY]):
        return entries.slice(0, 0)
    hidden = pc.is_in(entries.column(KEY), value_set=records.column(KEY).combine_chunks())
    shown = entries.filter(pc.invert(hidden)) if pc.any(hidden).as_py() else entries
    return newest_wins([puts, shown]) if puts.num_rows else shown


def overlay_few(entries: pa.Table, layers: Sequence[pa.Table]) -> pa.Table:
    """Return what `overlay(entries, newest_wins(layers))` returns. For few records: keys are merged as values, and rows
    are copied once.
    """
    numbers: dict[bytes, int] = {}
    end = entries.num_rows + sum(records.num_rows for records in layers)
    for records in reversed(layers):
        end -= records.num_rows
        gone = records.column(TOMBSTONE).to_pylist()
        rows = [-1 if removed else number for number, removed in enumerate(gone, end)]
        numbers.update(zip(records.column(KEY).to_pylist(), rows, strict=True))
    ordered = sorted(numbers)
    at, there = positions(entries.column(KEY), pa.array(ordered, pa.binary()))
    number = np.array([numbers[key] for key in ordered], np.int64)
    taken = np.arange(entries.num_rows)
    taken[at[there]] = number[there]
    new = ~there & (number >= 0)
    if new.any():
        taken = np.insert(taken, at[new], number[new])
    both = pa.concat_tables([entries, as_entries(pa.concat_tables(layers))]).combine_chunks()
    return both.take(pa.array(taken[taken >= 0]))


def live(records: pa.Table) -> pa.Table:
    """Return the entries among some records, without the tombstones."""
    gone = records.column(TOMBSTONE)
    return as_entries(records.filter(pc.invert(gone)) if pc.any(gone).as_py() else records)


def as_entries(records: pa.Table) -> pa.Table:
    """Return records without tombstones as entries."""
    kept = records.drop_columns([TOMBSTONE]) if TOMBSTONE in records.column_names else records
    return pa.Table.from_arrays(kept.columns, schema=ENTRY_SCHEMA)


def as_records(entries: pa.Table, tombstone: pa.Array | None = None) -> pa.Table:
    """Return entries as records. Rows flagged in `tombstone` must have nulls in all columns except the key."""
    flags = pa.array(np.zeros(entries.num_rows, np.bool_)) if tombstone is None else tombstone
    return pa.Table.from_arrays([*entries.columns, flags], schema=RECORD_SCHEMA)


def paired(left: pa.Table, right: pa.Table) -> Pairs:
    """Align two sorted tables with unique keys by key."""
    n, m = left.num_rows, right.num_rows
    if n == m and left.column(KEY).equals(right.column(KEY)):
        return Pairs(np.arange(n), np.arange(n))
    if n < m:
        return Pairs(*reversed(paired(right, left)))
    at, found = positions(left.column(KEY), right.column(KEY))
    new = ~found
    in_left = np.insert(np.arange(n), at[new], -1)
    in_right = np.full(len(in_left), -1)
    in_right[at + np.cumsum(new) - new] = np.arange(m)
    return Pairs(in_left, in_right)


def identities(table: pa.Table) -> NDArray[np.uint64]:
    """Return the identity column as rows of four numbers (zeros for null), to compare many identities at once."""
    array = table.column(IDENTITY).combine_chunks()
    if len(array) == 0:
        return np.empty((0, 4), np.uint64)
    return np.ascontiguousarray(fixed_rows(array)).view(np.uint64).reshape(len(array), 4)


def _effective(
    entries: pa.Table, changes: pa.Table, at: NDArray[np.int64], found: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return a mask of the effective changes."""
    tombstone = _flags(changes.column(TOMBSTONE))
    effective: NDArray[np.bool_] = np.where(tombstone, found, True)
    same = np.flatnonzero(found & ~tombstone)
    if len(same):
        old, new = identities(entries)[at[same]], identities(changes)[same]
        effective[same] = (old != new).any(axis=1)
    return effective


def _effect(changes: pa.Table, found: NDArray[np.bool_], effective: NDArray[np.bool_]) -> ChangeEffect:
    tombstone = _flags(changes.column(TOMBSTONE))
    puts = effective & ~tombstone
    added = int(np.count_nonzero(puts & ~found))
    return ChangeEffect(
        effective=changes if effective.all() else changes.filter(pa.array(effective)),
        added=added,
        changed=int(np.count_nonzero(puts)) - added,
        removed=int(np.count_nonzero(effective & tombstone)),
    )


def _overlaid(
    entries: pa.Table,
    changes: pa.Table,
    at: NDArray[np.int64],
    found: NDArray[np.bool_],
    effective: NDArray[np.bool_],
) -> pa.Table:
    """Return the entries with effective puts applied, and without the entries that effective tombstones found."""
    if not effective.any():
        return entries
    tombstone = _flags(changes.column(TOMBSTONE))
    puts, removals = effective & ~tombstone, effective & tombstone
    if entries.num_rows == 0:
        return as_entries(changes if puts.all() else changes.filter(pa.array(puts)))
    rows = np.arange(entries.num_rows)
    put = np.flatnonzero(puts)
    number = np.full(len(puts), -1, np.int64)
    number[put] = entries.num_rows + np.arange(len(put))
    replaced = puts & found
    rows[at[replaced]] = number[replaced]
    rows[at[removals]] = -1
    inserted = puts & ~found
    rows = np.insert(rows, at[inserted], number[inserted])
    both = pa.concat_tables([entries, as_entries(changes.take(pa.array(put)))]).combine_chunks()
    return both.take(pa.array(rows[rows >= 0]))


def _newest_rows(tables: Sequence[pa.Table]) -> NDArray[np.int64]:
    """Return the rows that `newest_wins` keeps, in the order of their keys, counted over all tables."""
    if len(tables) == 2:
        first, second = paired(*tables)
        return np.where(first >= 0, first, tables[0].num_rows + second)
    keys = pa.chunked_array([chunk for table in tables for chunk in table.column(KEY).chunks])
    order = pc.sort_indices(keys)
    ordered = keys.take(order)
    repeated = pc.equal(ordered[1:], ordered[:-1]).to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.append(True, ~repeated))
    # Take the smallest row number of each key, because the sort may be unstable.
    rows: NDArray[np.int64] = np.minimum.reduceat(order.to_numpy(), starts).astype(np.int64)
    return rows


def _flags(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = pc.fill_null(column, False).to_numpy()
    return flags
