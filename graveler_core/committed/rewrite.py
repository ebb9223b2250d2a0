"""One piece of work on a tree: read the ranges of a key interval, change them, cut, write. May run anywhere, twice."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.committed.node import Row
from graveler_core.committed.plan import Rewrite
from graveler_core.committed.trees import Trees, hold_range, range_row, read_range, write_range
from graveler_core.model.entry import ENTRY_SCHEMA, TOMBSTONE
from graveler_core.segments.boundary import cut, key_hash, key_hashes, under
from graveler_core.segments.merge import apply_changes
from graveler_core.segments.operations import OperationsPiece, piece_of
from graveler_core.segments.sorted_keys import KEY, between, key_series, positions


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result of one piece of work."""

    head: pa.Table
    """Of what stands before it: entries up to the first boundary, or all where there is none; none if it begins
    closed."""
    bounded: bool
    """Whether a boundary closes `head`."""
    rows: tuple[Row, ...]
    tail: pa.Table
    """Entries behind the last boundary, to be closed by what follows; none if it ends closed."""
    operations: OperationsPiece
    added: int
    changed: int
    removed: int


def rewrite(trees: Trees, work: Rewrite, *, verbatim: bool = False) -> Rewritten:
    """Do one piece of work.

    Raises:
        CorruptData: a range of the base is missing or damaged.
    """
    applied = apply_changes(_base_entries(trees, work), work.changes, verbatim=verbatim)
    effective, hashes = applied.effective, key_hashes(work.changes.column(KEY), trees.boundary_seed)
    operations = piece_of(effective, trees.boundary_seed, hashes if len(hashes) == effective.num_rows else None)
    counts = applied.added, applied.changed, applied.removed
    none = ENTRY_SCHEMA.empty_table()
    if effective.num_rows == 0 and _covers_its_ranges(work):
        return Rewritten(none, True, work.rows, none, operations, *counts)
    entries, ends = applied.entries, _primary_ends(trees, work, applied.entries, hashes)
    first, last = _closed(work, ends, entries.num_rows)
    rows = write_ranges(
        trees,
        entries.slice(first, last - first),
        ends[(ends > first) & (ends <= last)] - first,
        present={row.id for row in work.rows},
        # What was changed once is likely to be read again; a first import would only fill memory.
        hold=bool(work.rows),
    )
    return Rewritten(entries.slice(0, first), len(ends) > 0, tuple(rows), entries.slice(last), operations, *counts)


def write_ranges(
    trees: Trees,
    entries: pa.Table,
    primary: NDArray[np.int64],
    *,
    present: Collection[str] = (),
    hold: bool = False,
) -> list[Row]:
    """Cut entries that begin and end where ranges do, and keep the ranges.

    Args:
        trees: The repository's trees.
        entries: `ENTRY_SCHEMA`, sorted.
        primary: Positions behind the primary boundary keys.
        present: Ids of ranges that are kept already.
        hold: Whether to have what is written at hand for readers to come.
    """
    rows: list[Row] = []
    start = 0
    for end in cut(entries, trees.boundary_seed, trees.cutting, primary):
        part = entries.slice(start, end - start)
        row = range_row(part)
        if row.id not in present:
            write_range(trees, row, part)
            if hold:
                hold_range(trees, row, part)
        rows.append(row)
        start = end
    return rows


def _closed(work: Rewrite, ends: NDArray[np.int64], rows: int) -> tuple[int, int]:
    """Positions between which ranges are final, whatever stands beside them."""
    if len(ends) == 0 and (work.open_start or work.open_end):
        return rows, rows
    return int(ends[0]) if work.open_start else 0, int(ends[-1]) if work.open_end else rows


def _covers_its_ranges(work: Rewrite) -> bool:
    ends_alike = work.through is None or (bool(work.rows) and work.rows[-1].max_key == work.through)
    return work.after is None and ends_alike and not work.open_start and not work.open_end


def _base_entries(trees: Trees, work: Rewrite) -> pa.Table:
    """The base's entries in the interval."""
    tables = [read_range(trees, row) for row in work.rows] or [ENTRY_SCHEMA.empty_table()]
    start = b"" if work.after is None else work.after + b"\0"
    end = None if work.through is None else work.through + b"\0"
    return pa.concat_tables([between(table, start, end) for table in tables]).combine_chunks()


def _primary_ends(trees: Trees, work: Rewrite, entries: pa.Table, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Ends of the primary intervals in the new entries, hashing only keys that may close one.

    Inside an interval of the base no key closes one, so these are the ranges' edges and the changes' keys.
    """
    seed, threshold = trees.boundary_seed, trees.cutting.threshold()
    edges = {row.max_key for row in work.rows if key_hash(row.max_key, seed) < threshold}
    puts = under(hashes, threshold) & ~work.changes.column(TOMBSTONE).to_numpy()
    edges.update(work.changes.column(KEY).take(pa.array(np.flatnonzero(puts))).to_pylist())
    at, found = positions(key_series(entries), pl.Series(sorted(edges), dtype=pl.Binary))
    return at[found] + 1
