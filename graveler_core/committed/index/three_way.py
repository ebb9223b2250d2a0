"""What a merge does to its destination, and where it cannot decide. Decides, never writes.

What the source changed since the merge base is walked by key, lazily, and looked up in the destination: what source
and base share is not read, nor what the destination alone changed.

    changed in source only                  take the source's
    changed in destination only             nothing to do
    changed in both, alike                  nothing to do
    changed in both, differently            a conflict, or what the strategy says
    changed in source, and resolved         what the resolution says
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
from graveler_core.committed.index.resolutions import Choice, Rules
from graveler_core.committed.scan import key_interval
from graveler_core.committed.trees import DECISIVE
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index
from graveler_core.segments.merge import identities, newest_wins, paired
from graveler_core.segments.sorted_keys import KEY

MAX_LISTED_CONFLICTS = 1_000
MAX_HELD_BYTES = 64 << 20
"""Of changes that are kept until all conflicts are known. Where there are more, a merge walks twice."""
_NO_RULES = Rules()


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
    resolved: NDArray[np.int64]
    """The resolutions that were met here, by their rows."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """A merge in whole."""

    changes: pa.Table | None
    """To apply on the destination, `RECORD_SCHEMA`, sorted by key; None where they are too many to keep."""
    conflicts: Conflicts
    """The first conflicts, at most as many as were asked for."""
    conflict_count: int
    """All of them."""
    resolved: NDArray[np.int64]
    """The resolutions that were met, by their rows."""


@dataclass(frozen=True, slots=True)
class MergeInputs:
    """The three sides of a merge."""

    base: Index
    source: Index
    destination: Index
    changed: Sequence[bytes] | None = None
    """The sorted keys outside of which base and source hold the same, where they are known."""


def three_way(  # noqa: PLR0913 - the key interval as `scan` takes it
    indexes: Indexes,
    inputs: MergeInputs,
    rules: Rules = _NO_RULES,
    *,
    prefix: bytes = b"",
    start: bytes = b"",
    end: bytes | None = None,
) -> Iterator[Decision]:
    """Decide key interval by key interval, at keys that begin with `prefix`, `start` ≤ key < `end`.

    Memory is that of a diff.

    Where conflicts may be left, a caller must see all of them before it writes anything: walk twice, or use `verdict`.

    Raises:
        CorruptData: a part of an index that had to be read is missing or damaged.
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
        yield Decision(changes, conflicts, ruling.resolved)


def _source_changes(
    indexes: Indexes, inputs: MergeInputs, interval: tuple[bytes, bytes | None]
) -> Iterator[Differences]:
    start, end = interval
    if inputs.changed is None:
        return diff(indexes, inputs.base, inputs.source, start=start, end=end, wanted=CHANGES)
    keys = [key for key in inputs.changed if key >= start and (end is None or key < end)]
    return diff_at(indexes, inputs.base, inputs.source, keys, CHANGES)


def verdict(
    decisions: Iterable[Decision], max_conflicts: int = MAX_LISTED_CONFLICTS, max_bytes: int = MAX_HELD_BYTES
) -> Verdict:
    """All decisions in one. Conflicts are counted beyond the limit, not kept; nor are changes."""
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
    return Verdict(whole, _joined(conflicts), count, np.concatenate(resolved))


def together(verdicts: Iterable[Verdict], max_conflicts: int = MAX_LISTED_CONFLICTS) -> Verdict:
    """The verdict on several key intervals, in order, as one; it keeps no changes. One is in memory at a time."""
    conflicts, resolved = [_no_conflicts()], [np.empty(0, np.int64)]
    listed = count = 0
    for found in verdicts:
        resolved.append(found.resolved)
        count += found.conflict_count
        if listed < max_conflicts and len(found.conflicts):
            conflicts.append(_sliced(found.conflicts, max_conflicts - listed))
            listed += len(conflicts[-1])
    return Verdict(None, _joined(conflicts), count, np.concatenate(resolved))


@dataclass(frozen=True, slots=True)
class Ruling:
    """Rows of what the source changed: those to take as the source has them, and those that nobody wins."""

    taken: NDArray[np.int64]
    conflicting: NDArray[np.int64]
    resolved: NDArray[np.int64]
    """The resolutions that were met, by their own rows."""


def ruled(source: Differences, destination: Differences, rules: Rules) -> Ruling:
    """Who wins at some keys, from what both sides did there since the merge base."""
    pairs = paired(keyed(source), keyed(destination))
    alone = pairs.left[(pairs.left >= 0) & (pairs.right < 0)]
    both = (pairs.left >= 0) & (pairs.right >= 0)
    ours, theirs = pairs.left[both], pairs.right[both]
    # An absent entry has an identity of zeros here, which no entry's hash is.
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
    """The keys alone."""
    return pa.table({KEY: differences.keys})


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


def _no_conflicts() -> Conflicts:
    empty = SIDE_SCHEMA.empty_table()
    return Conflicts(pa.array([], pa.binary()), empty, empty, empty)


def _sliced(found: Conflicts, count: int) -> Conflicts:
    parts = (found.keys, found.base, found.source, found.destination)
    return Conflicts(*(part.slice(0, count) for part in parts))


def _joined(found: list[Conflicts]) -> Conflicts:
    tables = ([getattr(part, side) for part in found] for side in ("base", "source", "destination"))
    return Conflicts(pa.concat_arrays([part.keys for part in found]), *map(pa.concat_tables, tables))
