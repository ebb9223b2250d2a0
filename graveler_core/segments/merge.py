"""Kernels on sorted tables: newest wins, changes over entries, and the pairing of two tables. Pure, columnar.

Keys are compared as bytes. A kernel's memory is that of its tables; bounding those is the caller's part.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.codec.columns import fixed_rows
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE
from graveler_core.segments.sorted_keys import KEY, key_series, positions

IDENTITY = "identity"


class Effect(NamedTuple):
    """What changes do to entries."""

    effective: pa.Table
    """The changes that changed something, `RECORD_SCHEMA`."""
    added: int
    changed: int
    removed: int


class AppliedChanges(NamedTuple):
    """What `apply_changes` gives."""

    entries: pa.Table
    """The new entries, `ENTRY_SCHEMA`."""
    effective: pa.Table
    """As in `Effect`, and so are the numbers."""
    added: int
    changed: int
    removed: int


class Pairs(NamedTuple):
    """The union of two sorted tables' keys, in order; -1 where a side has no such key."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]


def newest_wins(tables: Sequence[pa.Table]) -> pa.Table:
    """One sorted table with each key once, from sorted tables of one schema; of rows with one key, the first listed."""
    filled = [table for table in tables if table.num_rows]
    if len(filled) < 2:
        return filled[0] if filled else tables[0]
    frames = []
    row = 0
    for table in filled:
        frames.append(_numbered(key_series(table), row))
        row += table.num_rows
    while len(frames) > 1:
        frames = [_merged(frames[i : i + 2]) for i in range(0, len(frames), 2)]
    rows = frames[0]["row"].to_numpy()
    starts = np.flatnonzero(_first_of_key(frames[0]["key"]))
    return pa.concat_tables(filled).combine_chunks().take(pa.array(np.minimum.reduceat(rows, starts)))


def apply_changes(entries: pa.Table, changes: pa.Table, *, verbatim: bool = False) -> AppliedChanges:
    """Put changes over entries; both sorted, each key at most once.

    A change that changes nothing (the same identity again, a tombstone of an absent key) is dropped, and the old entry
    stays with its mtime and address; with `verbatim` the same identity again counts, and brings its own.
    """
    at, found = positions(key_series(entries), key_series(changes))
    if verbatim:
        effective: NDArray[np.bool_] = np.where(_flags(changes.column(TOMBSTONE)), found, True)
    else:
        effective = _effective(entries, changes, at, found)
    return AppliedChanges(_overlaid(entries, changes, at, found, effective), *_effect(changes, found, effective))


def effect(entries: pa.Table, changes: pa.Table) -> Effect:
    """What `apply_changes` does to entries of which key and identity are known: not what becomes of them."""
    at, found = positions(key_series(entries), key_series(changes))
    return _effect(changes, found, _effective(entries, changes, at, found))


def overlay(entries: pa.Table, records: pa.Table) -> pa.Table:
    """The entries that show where records lie over entries; both sorted, each key at most once.

    Decided by keys: a row is copied only where some rows of a table show and others do not.
    """
    puts = live(records)
    if entries.num_rows == 0 or records.num_rows == 0:
        return puts if entries.num_rows == 0 else entries
    if puts.num_rows == 0 and entries.num_rows == records.num_rows and entries[KEY].equals(records[KEY]):
        return entries.slice(0, 0)
    hidden = pc.is_in(entries.column(KEY), value_set=records.column(KEY).combine_chunks())
    shown = entries.filter(pc.invert(hidden)) if pc.any(hidden).as_py() else entries
    return newest_wins([puts, shown]) if puts.num_rows else shown


def live(records: pa.Table) -> pa.Table:
    """The entries among some records, without the tombstones."""
    gone = records.column(TOMBSTONE)
    return as_entries(records.filter(pc.invert(gone)) if pc.any(gone).as_py() else records)


def as_entries(records: pa.Table) -> pa.Table:
    """Records without tombstones, as entries."""
    kept = records.drop_columns([TOMBSTONE]) if TOMBSTONE in records.column_names else records
    return pa.Table.from_arrays(kept.columns, schema=ENTRY_SCHEMA)


def as_records(entries: pa.Table, tombstone: pa.Array | None = None) -> pa.Table:
    """Entries as records; those flagged in `tombstone` must have nulls in all columns but the key."""
    flags = pa.array(np.zeros(entries.num_rows, np.bool_)) if tombstone is None else tombstone
    return pa.Table.from_arrays([*entries.columns, flags], schema=RECORD_SCHEMA)


def paired(left: pa.Table, right: pa.Table) -> Pairs:
    """Align two sorted tables, each with unique keys, by key."""
    n, m = left.num_rows, right.num_rows
    if n == m and left.column(KEY).equals(right.column(KEY)):
        return Pairs(np.arange(n), np.arange(n))
    frame = _merged([_numbered(key_series(left), 0), _numbered(key_series(right), n)])
    rows: NDArray[np.int64] = frame["row"].to_numpy()
    starts = np.flatnonzero(_first_of_key(frame["key"]))
    low, high = np.minimum.reduceat(rows, starts), np.maximum.reduceat(rows, starts)
    assert m + n == len(rows)  # noqa: S101 - merging neither drops nor invents rows
    return Pairs(left=np.where(low < n, low, -1), right=np.where(high >= n, high - n, -1))


def identities(table: pa.Table) -> NDArray[np.uint64]:
    """The identity column as rows of four numbers, zeros where null, for comparing many at once."""
    array = table.column(IDENTITY).combine_chunks()
    if len(array) == 0:
        return np.empty((0, 4), np.uint64)
    return np.ascontiguousarray(fixed_rows(array)).view(np.uint64).reshape(len(array), 4)


def _effective(
    entries: pa.Table, changes: pa.Table, at: NDArray[np.int64], found: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Which changes change something."""
    tombstone = _flags(changes.column(TOMBSTONE))
    effective: NDArray[np.bool_] = np.where(tombstone, found, True)
    same = np.flatnonzero(found & ~tombstone)
    if len(same):
        old, new = identities(entries)[at[same]], identities(changes)[same]
        effective[same] = (old != new).any(axis=1)
    return effective


def _effect(changes: pa.Table, found: NDArray[np.bool_], effective: NDArray[np.bool_]) -> Effect:
    tombstone = _flags(changes.column(TOMBSTONE))
    puts = effective & ~tombstone
    added = int(np.count_nonzero(puts & ~found))
    return Effect(
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
    """Entries with effective puts in place or inserted, and without what effective tombstones found."""
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


def _numbered(keys: pl.Series, first: int) -> pl.DataFrame:
    return pl.DataFrame({"key": keys, "row": np.arange(first, first + len(keys), dtype=np.int64)})


def _merged(frames: Sequence[pl.DataFrame]) -> pl.DataFrame:
    return frames[0].merge_sorted(frames[1], key="key") if len(frames) == 2 else frames[0]


def _first_of_key(keys: pl.Series) -> NDArray[np.bool_]:
    """Which rows are the first of their key. Does not rely on which side a merge lets go first."""
    first: NDArray[np.bool_] = np.ones(len(keys), np.bool_)
    if len(keys) > 1:
        first[1:] = (keys[1:] != keys[:-1]).to_numpy()
    return first


def _flags(column: pa.ChunkedArray) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = pc.fill_null(column, False).to_numpy()
    return flags
