"""Decide the effect of a merge on its destination, and find the conflicts. Never writes.

The source's changes since the merge base are read lazily, in order of their keys, and looked up in the destination.
Content that source and base share is not read. Changes that only the destination made are not read either.

    changed in source only                  take the source's
    changed in destination only             nothing to do
    changed in both, alike                  nothing to do
    changed in both, differently            a conflict, or decided by the strategy
    changed in source, and resolved         decided by the resolution
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from graveler_core.committed.diff import CHANGES, SIDE_SCHEMA, Differences, aligned, as_changes, differences
from graveler_core.committed.index.diff import diff, diff_at
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import lookup_many
from graveler_core.committed.index.resolutions import Choice, MergeRules
from graveler_core.committed.trees import DECISIVE
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index
from graveler_core.model.key_intervals import key_interval
from graveler_core.segments.merge import identities, newest_wins, paired
from graveler_core.segments.sorted_keys import KEY

MAX_LISTED_CONFLICTS = 1_000
MAX_HELD_BYTES = 64 << 20
"""Maximum size of changes kept until all conflicts are known, in bytes. With larger changes, a merge reads twice."""
_NO_RULES = MergeRules()


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
class MergeDecision:
    """Decisions of a merge in one key interval. Key intervals come in order."""

    changes: pa.Table
    """Changes to apply to the destination, in `RECORD_SCHEMA`, sorted by key."""
    conflicts: Conflicts
    resolved: NDArray[np.int64]
    """Row numbers of the resolutions that were used here."""


@dataclass(frozen=True, slots=True)
class MergeVerdict:
    """Decisions of a whole merge."""

    changes: pa.Table | None
    """Changes to apply to the destination, in `RECORD_SCHEMA`, sorted by key; `None` if they are too large to keep."""
    conflicts: Conflicts
    """First conflicts, up to the requested number."""
    conflict_count: int
    """Number of all conflicts."""
    resolved: NDArray[np.int64]
    """Row numbers of the resolutions that were used."""


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """Three sides of a merge."""

    base: Index
    source: Index
    destination: Index
    changed: Sequence[bytes] | None = None
    """Sorted keys at which base and source may differ, if known. At all other keys they are equal."""


def three_way(  # noqa: PLR0913 - the key interval as `scan` takes it
    indexes: Indexes,
    inputs: MergeInputs,
    rules: MergeRules = _NO_RULES,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
) -> Iterator[MergeDecision]:
    """Yield the decisions by key interval, at keys with `prefix` and `start` ≤ key < `end`.

    This needs as much memory as a diff. If conflicts are possible, a caller must see all decisions before it writes:
    iterate twice, or use `verdict`.

    Raises:
        CorruptData: An object of an index that had to be read is missing or damaged.
    """
    if inputs.source == inputs.base or (inputs.source == inputs.destination and rules.resolutions is None):
        return
    for source in _source_changes(indexes, inputs, key_interval(prefix, start, end)):
        there = lookup_many(indexes, inputs.destination, source.keys.to_pylist(), DECISIVE)
        before = source.before.filter(source.before.column(KEY).is_valid())
        ruling = ruled(source, differences(before, there), rules)
        changes, conflicts = _records(source, ruling.taken), _conflicts(indexes, inputs, source, ruling.conflicting)
        if rules.resolutions is not None:
            changes = newest_wins([rules.resolutions.values_at(ruling.resolved), changes])
        yield MergeDecision(changes, conflicts, ruling.resolved)


def _source_changes(
    indexes: Indexes, inputs: MergeInputs, interval: tuple[bytes, bytes | None]
) -> Iterator[Differences]:
    start, end = interval
    if inputs.changed is None:
        return diff(indexes, inputs.base, inputs.source, start=start, end=end, wanted=CHANGES)
    keys = [key for key in inputs.changed if key >= start and (end is None or key < end)]
    return diff_at(indexes, inputs.base, inputs.source, keys, CHANGES)


def verdict(
    decisions: Iterable[MergeDecision], max_conflicts: int = MAX_LISTED_CONFLICTS, max_bytes: int = MAX_HELD_BYTES
) -> MergeVerdict:
    """Combine all decisions into one. Beyond the limits, conflicts are counted but not kept, and changes are not
    kept.
    """
    changes: list[pa.Table] | None = [RECORD_SCHEMA.empty_table()]
    conflicts, resolved = [_no_conflicts()], [np.empty(0, np.int64)]
    listed = count = held = 0
    for decision in decisions:
        resolved.append(decision.resolved)
        count += len(decision.conflicts)
        if listed < max_conflicts and len(decision.conflicts):
            conflicts.append(_sliced(decision.conflicts, max_conflicts - listed))
            listed += len(conflicts[-1])
        held += decision.changes.nbytes
        if held > max_bytes:
            changes = None
        elif changes is not None:
            changes.append(decision.changes)
    whole = None if changes is None else pa.concat_tables(changes)
    return MergeVerdict(whole, _joined(conflicts), count, np.concatenate(resolved))


def together(verdicts: Iterable[MergeVerdict], max_conflicts: int = MAX_LISTED_CONFLICTS) -> MergeVerdict:
    """Combine the verdicts of several key intervals, in order. The result has no changes. One verdict is in memory at a
    time.
    """
    conflicts, resolved = [_no_conflicts()], [np.empty(0, np.int64)]
    listed = count = 0
    for found in verdicts:
        resolved.append(found.resolved)
        count += found.conflict_count
        if listed < max_conflicts and len(found.conflicts):
            conflicts.append(_sliced(found.conflicts, max_conflicts - listed))
            listed += len(conflicts[-1])
    return MergeVerdict(None, _joined(conflicts), count, np.concatenate(resolved))


@dataclass(frozen=True, slots=True)
class Ruling:
    """Rows of the source's changes: those to take from the source, and those in conflict."""

    taken: NDArray[np.int64]
    conflicting: NDArray[np.int64]
    resolved: NDArray[np.int64]
    """Row numbers of the resolutions that were used."""


def ruled(source: Differences, destination: Differences, rules: MergeRules) -> Ruling:
    """Decide the keys that the source changed, from the changes of both sides since the merge base."""
    pairs = paired(keyed(source), keyed(destination))
    alone = pairs.left[(pairs.left >= 0) & (pairs.right < 0)]
    both = (pairs.left >= 0) & (pairs.right >= 0)
    ours, theirs = pairs.left[both], pairs.right[both]
    # An absent entry has an identity of zeros here, which is not the hash of any entry.
    ours = ours[(identities(source.after)[ours] != identities(destination.after)[theirs]).any(axis=1)]
    won = resolved = alone[:0]
    if rules.resolutions is not None:
        chosen = rules.resolutions.rows(keyed(source))
        alone, ours = alone[chosen[alone] < 0], ours[chosen[ours] < 0]
        won, resolved = np.flatnonzero(rules.resolutions.chose(chosen, Choice.SOURCE)), chosen[chosen >= 0]
    if rules.strategy is not None:
        won = won if rules.strategy is MergeStrategy.DESTINATION else np.concatenate([won, ours])
        ours = ours[:0]
    taken = np.sort(np.concatenate([alone, won])) if len(won) else alone
    return Ruling(taken, ours, resolved)


def keyed(differences: Differences) -> pa.Table:
    """Return the keys as a table."""
    return pa.table({KEY: differences.keys})


def _records(source: Differences, rows: NDArray[np.int64]) -> pa.Table:
    """Return the source's states as changes: entries, and tombstones where the source has no entry."""
    wanted = pa.array(rows)
    return as_changes(Differences(source.keys.take(wanted), source.before.take(wanted), source.after.take(wanted)))


def _conflicts(indexes: Indexes, inputs: MergeInputs, source: Differences, rows: NDArray[np.int64]) -> Conflicts:
    """Return conflicts at some of the source's differences. The entries of base and destination are read only now."""
    if not len(rows):
        return _no_conflicts()
    keys = source.keys.take(pa.array(rows))
    wanted = keys.to_pylist()
    base, destination = (lookup_many(indexes, side, wanted) for side in (inputs.base, inputs.destination))
    return Conflicts(keys, aligned(keys, base), source.after.take(pa.array(rows)), aligned(keys, destination))


def _no_conflicts() -> Conflicts:
    empty = SIDE_SCHEMA.empty_table()
    return Conflicts(pa.array([], pa.binary()), empty, empty, empty)


def _sliced(found: Conflicts, count: int) -> Conflicts:
    parts = (found.keys, found.base, found.source, found.destination)
    return Conflicts(*(part.slice(0, count) for part in parts))


def _joined(found: list[Conflicts]) -> Conflicts:
    tables = ([getattr(part, side) for part in found] for side in ("base", "source", "destination"))
    return Conflicts(pa.concat_arrays([part.keys for part in found]), *map(pa.concat_tables, tables))
