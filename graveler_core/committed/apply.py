"""Changes over a tree: a new tree that shares what it can with the old one.

The result depends on the resulting entries alone: equal entries give equal ids, whatever the base and the order of
changes. Costs what is changed: ranges and subtrees that no change falls into are not read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.committed.build import TreeBuilder
from graveler_core.committed.change_stream import ChangeStream
from graveler_core.committed.node import Row
from graveler_core.committed.plan import Keep, Rewrite, plan
from graveler_core.committed.trees import Trees, hold_range, range_row, read_range, write_range
from graveler_core.model.entry import ENTRY_SCHEMA, TOMBSTONE
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import cut, key_hash, key_hashes, under
from graveler_core.segments.merge import apply_changes
from graveler_core.segments.operations import OperationsDigest
from graveler_core.segments.sorted_keys import KEY, between, key_series, positions

_WINDOW = 2
"""Pieces of work handed to the mapper at once: few, so that the first begin while the changes of others are read."""
_WINDOWS_UNDER_WAY = 3

Mapper: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]]
"""`map`, or an executor's `map`."""


@dataclass(frozen=True, slots=True)
class Applied:
    """The new tree and what made it differ from the base."""

    metarange_id: MetarangeId
    operations: str
    """64 hex digits: hash over the effective changes in key order, all columns, and whether each is a tombstone."""
    added: int
    changed: int
    removed: int
    given: int = field(default=0, compare=False)
    """Changes that were asked for, whether they changed something or not: of the way there, not of the result."""

    @property
    def effective(self) -> int:
        """Changes that changed something."""
        return self.added + self.changed + self.removed


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The result of one piece of work."""

    rows: tuple[Row, ...]
    effective: pa.Table
    added: int
    changed: int
    removed: int


def apply(
    trees: Trees,
    base: MetarangeId | None,
    changes: pa.Table | Iterable[pa.Table | pa.RecordBatch],
    *,
    mapper: Mapper = map,
    verbatim: bool = False,
) -> Applied:
    """Make the tree that `changes` turn `base` into; its nodes and ranges are kept when this returns.

    Args:
        trees: The repository's trees.
        base: The tree to start from; None: no entries.
        changes: In `RECORD_SCHEMA`, keys rising, over all batches too. Batches are taken as they are needed.
        mapper: Runs the pieces of work: `map`, or the `map` of an executor of threads.
        verbatim: Entries that are equal by identity to those of the base take their places all the same, with mtime
            and address: the changes were judged before.

    Raises:
        InvalidInput: keys do not rise.
        CorruptData: a node or range of the base is missing or damaged.
    """
    operations = OperationsDigest(trees.boundary_seed)
    totals = np.zeros(3, np.int64)
    stream = ChangeStream(changes)
    while True:
        builder = TreeBuilder(trees)
        for step in _executed(plan(trees, base, stream), partial(rewrite, trees, verbatim=verbatim), mapper):
            if isinstance(step, Keep):
                builder.push(step.level, step.row)
                continue
            for row in step.rows:
                builder.push(0, row)
            operations.update(step.effective)
            totals += (step.added, step.changed, step.removed)
        base = builder.finish()
        if not stream.resume():
            break
    added, changed, removed = totals.tolist()
    return Applied(base, operations.hexdigest(), added, changed, removed, stream.taken)


def rewrite(trees: Trees, work: Rewrite, *, verbatim: bool = False) -> Rewritten:
    """Do one piece of work: read the interval's ranges, change, cut, write. May run anywhere, more than once."""
    applied = apply_changes(_base_entries(trees, work), work.changes, verbatim=verbatim)
    if applied.effective.num_rows == 0 and _covers_its_ranges(work):
        return Rewritten(work.rows, applied.effective, 0, 0, 0)
    present = {row.id for row in work.rows}
    rows: list[Row] = []
    start = 0
    primary = _primary_ends(trees, work, applied.entries)
    for end in cut(applied.entries, trees.boundary_seed, trees.cutting, primary):
        entries = applied.entries.slice(start, end - start)
        row = range_row(entries)
        if row.id not in present:
            write_range(trees, row, entries)
            if work.rows:  # what was changed once is likely to be read again; a first import would only fill memory
                hold_range(trees, row, entries)
        rows.append(row)
        start = end
    return Rewritten(tuple(rows), applied.effective, applied.added, applied.changed, applied.removed)


def _covers_its_ranges(work: Rewrite) -> bool:
    ends_alike = work.through is None or (bool(work.rows) and work.rows[-1].max_key == work.through)
    return work.after is None and ends_alike


def _base_entries(trees: Trees, work: Rewrite) -> pa.Table:
    """The base's entries in the interval."""
    tables = [read_range(trees, row) for row in work.rows] or [ENTRY_SCHEMA.empty_table()]
    start = b"" if work.after is None else work.after + b"\0"
    end = None if work.through is None else work.through + b"\0"
    return pa.concat_tables([between(table, start, end) for table in tables]).combine_chunks()


def _primary_ends(trees: Trees, work: Rewrite, entries: pa.Table) -> NDArray[np.int64]:
    """Ends of the primary intervals in the new entries, hashing only keys that may close one.

    Inside an interval of the base no key closes one, so these are the ranges' edges and the changes' keys.
    """
    seed, threshold = trees.boundary_seed, trees.cutting.threshold()
    edges = {row.max_key for row in work.rows if key_hash(row.max_key, seed) < threshold}
    puts = under(key_hashes(work.changes.column(KEY), seed), threshold) & ~work.changes.column(TOMBSTONE).to_numpy()
    edges.update(work.changes.column(KEY).take(pa.array(np.flatnonzero(puts))).to_pylist())
    at, found = positions(key_series(entries), pl.Series(sorted(edges), dtype=pl.Binary))
    return at[found] + 1


def _executed(
    steps: Iterator[Keep | Rewrite], run: Callable[[Rewrite], Rewritten], mapper: Mapper
) -> Iterator[Keep | Rewritten]:
    """Steps in order, rewrites replaced by their results, of which a bounded number is under way."""
    under_way: deque[tuple[list[Keep | Rewrite], Iterator[Rewritten]]] = deque()
    for window in _windows(steps):
        under_way.append((window, iter(mapper(run, [s for s in window if isinstance(s, Rewrite)]))))
        if len(under_way) == _WINDOWS_UNDER_WAY:
            yield from _results(*under_way.popleft())
    while under_way:
        yield from _results(*under_way.popleft())


def _results(window: list[Keep | Rewrite], results: Iterator[Rewritten]) -> Iterator[Keep | Rewritten]:
    for step in window:
        yield step if isinstance(step, Keep) else next(results)


def _windows(steps: Iterator[Keep | Rewrite]) -> Iterator[list[Keep | Rewrite]]:
    window: list[Keep | Rewrite] = []
    rewrites = 0
    for step in steps:
        window.append(step)
        rewrites += isinstance(step, Rewrite)
        if rewrites == _WINDOW:
            yield window
            window, rewrites = [], 0
    if window:
        yield window
