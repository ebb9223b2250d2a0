"""What a merge does to its destination, and where it cannot decide. Decides, never writes.

What the source changed since the merge base is walked by key, lazily, and looked up in the destination: what source
and base share is not read, nor what the destination alone changed.

    changed in source only                  take the source's
    changed in destination only             nothing to do
    changed in both, alike                  nothing to do
    changed in both, differently            a conflict, or what the strategy says
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.committed.diff import CHANGES, SIDE_SCHEMA, Differences, aligned, as_changes, differences
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.trees import DECISIVE
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index
from graveler_core.segments.merge import identities, paired
from graveler_core.segments.sorted_keys import KEY

MAX_LISTED_CONFLICTS = 1_000


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Keys that both sides changed differently, in order; their states are in `SIDE_SCHEMA`, null where absent."""

    keys: pa.Array
    base: pa.Table
    source: pa.Table
    destination: pa.Table

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a merge does in one key interval. Intervals come in order."""

    changes: pa.Table
    """To apply on the destination, `RECORD_SCHEMA`, sorted by key."""
    conflicts: Conflicts


@dataclass(frozen=True, slots=True)
class Verdict:
    """A merge in whole."""

    changes: pa.Table
    """To apply on the destination, `RECORD_SCHEMA`, sorted by key."""
    conflicts: Conflicts
    """The first conflicts, at most as many as were asked for."""
    conflict_count: int
    """All of them."""


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """The three sides of a merge."""

    base: Index
    source: Index
    destination: Index


def three_way(indexes: Indexes, inputs: MergeInputs, strategy: MergeStrategy | None = None) -> Iterator[Decision]:
    """Decide key interval by key interval. Memory is that of a diff.

    Without a strategy a caller must see all conflicts before it writes anything: walk twice, or use `verdict`.

    Raises:
        CorruptData: a part of an index that had to be read is missing or damaged.
    """
    if inputs.source in (inputs.base, inputs.destination):
        return
    for source in diff(indexes, inputs.base, inputs.source, wanted=CHANGES):
        there = lookup_many(indexes, inputs.destination, source.keys.to_pylist(), DECISIVE)
        before = source.before.filter(source.before.column(KEY).is_valid())
        ours, conflicting = _decided(source, differences(before, there), strategy)
        yield Decision(_records(source, ours), _conflicts(indexes, inputs, source, conflicting))


def verdict(decisions: Iterable[Decision], max_conflicts: int = MAX_LISTED_CONFLICTS) -> Verdict:
    """All decisions in one, in memory; conflicts are counted beyond the limit, not kept."""
    changes: list[pa.Table] = [RECORD_SCHEMA.empty_table()]
    conflicts = [_no_conflicts()]
    listed = count = 0
    for decision in decisions:
        changes.append(decision.changes)
        count += len(decision.conflicts)
        if listed < max_conflicts and len(decision.conflicts):
            conflicts.append(_sliced(decision.conflicts, max_conflicts - listed))
            listed += len(conflicts[-1])
    return Verdict(pa.concat_tables(changes), _joined(conflicts), count)


def _decided(
    source: Differences, destination: Differences, strategy: MergeStrategy | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of the source's differences to take, and those that conflict."""
    pairs = paired(_keyed(source), _keyed(destination))
    alone = pairs.left[(pairs.left >= 0) & (pairs.right < 0)]
    both = (pairs.left >= 0) & (pairs.right >= 0)
    ours, theirs = pairs.left[both], pairs.right[both]
    # An absent entry has an identity of zeros here, which no entry's hash is.
    apart = (identities(source.after)[ours] != identities(destination.after)[theirs]).any(axis=1)
    ours = ours[apart]
    if strategy is MergeStrategy.SOURCE:
        alone = np.sort(np.concatenate([alone, ours]))
    return alone, ours if strategy is None else ours[:0]


def _records(source: Differences, rows: NDArray[np.int64]) -> pa.Table:
    """The source's states as changes: entries, and tombstones where it has none."""
    wanted = pa.array(rows)
    return as_changes(Differences(source.keys.take(wanted), source.before.take(wanted), source.after.take(wanted)))


def _conflicts(indexes: Indexes, inputs: MergeInputs, source: Differences, rows: NDArray[np.int64]) -> Conflicts:
    """Some of the source's differences, with what base and destination hold there, of which all is read only now."""
    if not len(rows):
        return _no_conflicts()
    keys = source.keys.take(pa.array(rows))
    wanted = keys.to_pylist()
    base, destination = (lookup_many(indexes, side, wanted) for side in (inputs.base, inputs.destination))
    return Conflicts(keys, aligned(keys, base), source.after.take(pa.array(rows)), aligned(keys, destination))


def _keyed(differences: Differences) -> pa.Table:
    return pa.table({KEY: differences.keys})


def _no_conflicts() -> Conflicts:
    empty = SIDE_SCHEMA.empty_table()
    return Conflicts(pa.array([], pa.binary()), empty, empty, empty)


def _sliced(found: Conflicts, count: int) -> Conflicts:
    parts = (found.keys, found.base, found.source, found.destination)
    return Conflicts(*(part.slice(0, count) for part in parts))


def _joined(found: list[Conflicts]) -> Conflicts:
    tables = ([getattr(part, side) for part in found] for side in ("base", "source", "destination"))
    return Conflicts(pa.concat_arrays([part.keys for part in found]), *map(pa.concat_tables, tables))
