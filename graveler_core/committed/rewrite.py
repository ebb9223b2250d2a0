"""Task on a tree: read the ranges of a key interval, change them, split them, and write. May run anywhere, and
twice.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.committed.node import NodeRow
from graveler_core.committed.plan import Rewrite
from graveler_core.committed.trees import Trees, hold_range, range_row, read_range, write_range
from graveler_core.model.entry import ENTRY_SCHEMA, TOMBSTONE
from graveler_core.segments.boundary import cut, key_hash, key_hashes, under
from graveler_core.segments.merge import apply_changes
from graveler_core.segments.operations import OperationsPartition, partition_of
from graveler_core.segments.sorted_keys import KEY, between, positions


@dataclass(frozen=True, slots=True)
class Rewritten:
    """Result of one task."""

    head: pa.Table
    """Entries that belong to the preceding task: up to the first boundary, or all if there is none. Empty if the
    preceding entries are closed.
    """
    bounded: bool
    """True if a boundary closes `head`."""
    rows: tuple[NodeRow, ...]
    tail: pa.Table
    """Entries after the last boundary, closed by the following task. Empty if the task ends at a boundary."""
    operations: OperationsPartition
    added: int
    changed: int
    removed: int
    present: frozenset[str] = frozenset()
    """Ids of the ranges of the base that the task has read."""


def rewrite(trees: Trees, work: Rewrite, *, verbatim: bool = False) -> Rewritten:
    """Execute one task.

    Raises:
        CorruptData: A range of the base is missing or damaged.
    """
    applied = apply_changes(_base_entries(trees, work), work.changes, verbatim=verbatim)
    effective, hashes = applied.effective, key_hashes(work.changes.column(KEY), trees.boundary_seed)
    operations = partition_of(effective, trees.boundary_seed, hashes if len(hashes) == effective.num_rows else None)
    counts = applied.added, applied.changed, applied.removed
    none = ENTRY_SCHEMA.empty_table()
    if effective.num_rows == 0 and _covers_its_ranges(work):
        return Rewritten(none, True, work.rows, none, operations, *counts)
    entries, ends = applied.entries, _primary_ends(trees, work, applied.entries, hashes)
    first, last = _closed(work, ends, entries.num_rows)
    closed, present = entries.slice(first, last - first), frozenset(row.id for row in work.rows)
    rows = write_ranges(
        trees,
        closed,
        cut(closed, trees.boundary_seed, trees.cutting, ends[(ends > first) & (ends <= last)] - first),
        present=present,
        # Entries that changed once are likely to be read again. A first import would only fill the cache.
        hold=bool(work.rows),
    )
    head, tail = entries.slice(0, first), entries.slice(last)
    return Rewritten(head, len(ends) > 0, tuple(rows), tail, operations, *counts, present)


def write_ranges(
    trees: Trees,
    entries: pa.Table,
    ends: Sequence[int],
    *,
    present: Collection[str] = (),
    hold: bool = False,
) -> list[NodeRow]:
    """Split entries into ranges, and store these.

    Args:
        trees: The repository's trees.
        entries: Entries in `ENTRY_SCHEMA`, sorted.
        ends: Ends of the ranges. Entries after the last one are ignored.
        present: Ids of ranges that are stored already.
        hold: `True` to cache the ranges for later readers.
    """
    rows: list[NodeRow] = []
    start = 0
    for end in ends:
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
    """Return the positions between which ranges are final, independently of neighbouring tasks."""
    if len(ends) == 0 and (work.open_start or work.open_end):
        return rows, rows
    return int(ends[0]) if work.open_start else 0, int(ends[-1]) if work.open_end else rows


def _covers_its_ranges(work: Rewrite) -> bool:
    ends_alike = work.through is None or (bool(work.rows) and work.rows[-1].max_key == work.through)
    return work.after is None and ends_alike and not work.open_start and not work.open_end


def _base_entries(trees: Trees, work: Rewrite) -> pa.Table:
    """Return the base's entries in the interval."""
    tables = [read_range(trees, row).table for row in work.rows] or [ENTRY_SCHEMA.empty_table()]
    start = b"" if work.after is None else work.after + b"\0"
    end = None if work.through is None else work.through + b"\0"
    return pa.concat_tables([between(table, start, end) for table in tables]).combine_chunks()


def _primary_ends(trees: Trees, work: Rewrite, entries: pa.Table, hashes: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the ends of the primary intervals in the new entries, hashing only candidate keys.

    Inside a primary interval of the base, no existing key is a boundary. So the candidates are the edges of the
    ranges and the keys of the changes.
    """
    seed, threshold = trees.boundary_seed, trees.cutting.threshold()
    edges = {row.max_key for row in work.rows if key_hash(row.max_key, seed) < threshold}
    puts = under(hashes, threshold) & ~work.changes.column(TOMBSTONE).to_numpy()
    edges.update(work.changes.column(KEY).take(pa.array(np.flatnonzero(puts))).to_pylist())
    at, found = positions(entries.column(KEY), pa.array(sorted(edges), pa.binary()))
    return at[found] + 1
