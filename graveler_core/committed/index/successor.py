"""Build the index of a commit from that of its first parent and its changes. Source: seed 002, "Indexes".

    changes                            destination
    a few bytes                        the inline index, together with its elements of earlier commits; if it becomes
                                       too large, the elements of earlier commits move to a run
    more, but few for the repository   a run of their own
    many for the repository            the metarange, together with all layers above it

So the cost of a small commit depends on its changes, not on the size of the repository. Neighbouring runs of similar
size are merged (`fan_out` at a time), and the layers are folded into the metarange when they hold a large fraction
of its number of entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise, takewhile
from typing import TypeAlias

import pyarrow as pa

from graveler_core.codec.elements import Element, ElementAction
from graveler_core.codec.entry import record_from_row
from graveler_core.codec.record_format import TOMBSTONE_VALUE, record_identity
from graveler_core.committed.apply import Applied, Mapper, apply
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.layer import Layer, aged, combined, overlaid, owned
from graveler_core.committed.index.layers import inline_layer, inline_of, read_run, write_run
from graveler_core.committed.index.lookup import beginnings_of_few, identities_of_few, lookup_many
from graveler_core.committed.trees import DECISIVE, count_entries
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import RECORD_SCHEMA
from graveler_core.model.index import Index, Run
from graveler_core.objects.objects import Write
from graveler_core.segments.merge import effect
from graveler_core.segments.operations import OperationsDigest, digest_of_few
from graveler_core.segments.sorted_keys import KEY, require_increasing

Staged: TypeAlias = tuple[bytes, bytes]
"""Key and its staged record."""
Changes: TypeAlias = pa.Table | Iterable[pa.Table | pa.RecordBatch]


@dataclass(frozen=True, slots=True)
class Successor:
    """New index, its difference from the base, and the writes that must complete before anything refers to it."""

    index: Index
    operations: str
    """64 hex digits: hash over the effective changes in key order, all columns, with a tombstone flag for each
    change.
    """
    added: int
    changed: int
    removed: int
    given: int = field(default=0, compare=False)
    """Number of changes in the input, effective or not."""
    tombstones: int = field(default=0, compare=False)
    """Number of removals in the input. Counted only if the metarange is changed."""
    writes: tuple[Write, ...] = ()

    @property
    def effective(self) -> int:
        """Number of effective changes."""
        return self.added + self.changed + self.removed


def successor(indexes: Indexes, base: Index, changes: Changes, *, mapper: Mapper = map) -> Successor:
    """Apply `changes` to the index `base`. When this returns, the blobs are stored; the objects are returned in
    `writes`.

    Args:
        indexes: The repository's indexes.
        base: The index of the first parent.
        changes: Changes in `RECORD_SCHEMA`, with ascending keys across all tables. Tables are read on demand.
        mapper: Runs tasks on the metarange: `map`, or the `map` of a thread pool.

    Raises:
        InvalidInput: Keys are not in ascending order.
        CorruptData: An object of the base is missing or damaged.
    """
    entries = count_entries(indexes.trees, base.metarange_id)
    tables = iter([changes] if isinstance(changes, pa.Table) else changes)
    few, rest = _first(tables, indexes.sizes.direct_beyond(entries), indexes.sizes.held_bytes)
    if rest is not None:
        return on_metarange(indexes, base, chain([few], rest), mapper=mapper)
    few = few.combine_chunks()
    if few.num_rows <= indexes.sizes.few_keys:
        keys, columns = few.column(KEY).to_pylist(), few.columns
        staged = [(key, record_from_row(columns, row)) for row, key in enumerate(keys)]
        return small_successor(indexes, base, staged, mapper=mapper)
    base = _low_enough(indexes, base, mapper)
    require_increasing(few)
    existing = lookup_many(indexes, base, few.column(KEY).to_pylist(), DECISIVE)
    applied = effect(existing, few)
    operations = OperationsDigest(indexes.trees.boundary_seed)
    operations.update(applied.effective)
    index, writes = _with_own(indexes, base, Layer(table=applied.effective))
    counts = applied.added, applied.changed, applied.removed
    return Successor(index, operations.hexdigest(), *counts, few.num_rows, writes=tuple(writes))


def small_successor(
    indexes: Indexes,
    base: Index,
    changes: Sequence[Staged],
    held: Mapping[bytes, bytes] | None = None,
    *,
    mapper: Mapper = map,
) -> Successor:
    """Apply few changes one by one. The results equal those of `successor`, except for the shape of the index.

    Args:
        indexes: The repository's indexes.
        base: The index of the first parent.
        changes: Key and staged record of each change, with ascending keys.
        held: Identity of the base's entry at each of the keys, or a beginning of it, b"" for none, if already known.
        mapper: Runs tasks on the metarange.
    """
    base = _low_enough(indexes, base, mapper)
    keys = [key for key, _ in changes]
    if any(later <= key for key, later in pairwise(keys)):
        raise InvalidInput("keys: must be sorted as bytes and unique")
    if held is None:
        held = dict(zip(keys, beginnings_of_few(indexes, base, keys), strict=True))
    same = _unchanged(indexes, base, changes, held)
    effective = [(key, record) for key, record in changes if key not in same]
    put = [key for key, record in effective if record != TOMBSTONE_VALUE]
    added = sum(not held[key] for key in put)
    actions = (ElementAction.REMOVE if record == TOMBSTONE_VALUE else ElementAction.ADD for _, record in effective)
    own = [Element(key, action, record) for (key, record), action in zip(effective, actions, strict=True)]
    index, writes = _with_own(indexes, base, Layer(elements=own))
    operations = digest_of_few(effective, indexes.trees.boundary_seed)
    counts = added, len(put) - added, len(effective) - len(put)
    return Successor(index, operations, *counts, len(changes), writes=tuple(writes))


def on_metarange(
    indexes: Indexes, base: Index, changes: Changes, *, mapper: Mapper = map, verbatim: bool = False
) -> Successor:
    """Return the successor with all changes in the metarange and no layers above it.

    Args:
        indexes: The repository's indexes.
        base: The index of the first parent.
        changes: As in `successor`.
        mapper: As in `successor`.
        verbatim: As in `committed.apply.apply`: an entry with the same identity replaces time and address.
    """
    below = fold(indexes, base, mapper=mapper)
    return of_tree(apply(indexes.trees, below, changes, mapper=mapper, verbatim=verbatim))


def of_tree(applied: Applied) -> Successor:
    """Return the successor whose index is only a metarange."""
    counts = applied.added, applied.changed, applied.removed, applied.given, applied.tombstones
    return Successor(Index(metarange_id=applied.metarange_id), applied.operations, *counts)


def _first(
    changes: Iterator[pa.Table | pa.RecordBatch], most: int, most_bytes: int
) -> tuple[pa.Table, Iterator[pa.Table | pa.RecordBatch] | None]:
    """Return all changes and `None`, or, if they are more or larger, the first changes and the remaining ones."""
    taken: list[pa.Table] = [RECORD_SCHEMA.empty_table()]
    rows = size = 0
    for part in changes:
        table = pa.Table.from_batches([part]) if isinstance(part, pa.RecordBatch) else part
        taken.append(table.select(RECORD_SCHEMA.names))
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows > most or size > most_bytes:
            return pa.concat_tables(taken), changes
    return pa.concat_tables(taken), None


def _unchanged(indexes: Indexes, base: Index, changes: Sequence[Staged], held: Mapping[bytes, bytes]) -> set[bytes]:
    """Return the keys whose entry the changes leave as it is. If the new identity begins with what is known of the held
    one, the whole held one is looked up.
    """
    new = {key: record_identity(record) for key, record in changes}
    same = {key for key, identity in new.items() if identity == held[key]}
    unclear = [key for key, identity in new.items() if held[key] and key not in same and identity.startswith(held[key])]
    if unclear:
        whole = identities_of_few(indexes, base, unclear)
        same |= {key for key, identity in zip(unclear, whole, strict=True) if identity == new[key]}
    return same


def _low_enough(indexes: Indexes, base: Index, mapper: Mapper) -> Index:
    """Return the base, folded if too many elements are above its metarange."""
    above = sum(run.elements for run in base.runs)
    soon = indexes.sizes.fold_beyond(count_entries(indexes.trees, base.metarange_id))
    if above <= soon * indexes.sizes.fold_at_once:
        return base
    return Index(metarange_id=fold(indexes, base, mapper=mapper))


def _with_own(indexes: Indexes, base: Index, own: Layer) -> tuple[Index, list[Write]]:
    """Return the index of a commit with these effective changes. Even without changes, it marks no element of its
    parent as its own.
    """
    limit = indexes.sizes.inline_bytes
    earlier = _earlier(indexes, base)
    if own.size > limit:
        runs, writes = _spilled(indexes, base, earlier)
        run, written = write_run(indexes, own)
        return Index(metarange_id=base.metarange_id, runs=(run, *runs), own_run=True), [*writes, *written]
    mine = Layer(elements=owned(own.elements))
    both = combined([mine, earlier])
    if both.size <= limit:
        return Index(metarange_id=base.metarange_id, runs=base.runs, inline=inline_of(indexes, both)), []
    runs, writes = _spilled(indexes, base, earlier)
    return Index(metarange_id=base.metarange_id, runs=runs, inline=inline_of(indexes, mine)), writes


def _earlier(indexes: Indexes, base: Index) -> Layer:
    """Return the base's inline index as the next commit sees it: no element belongs to that commit.

    A removal is dropped if nothing below it has the key any more.
    """
    elements = aged(inline_layer(indexes, base).elements)
    if not base.runs and count_entries(indexes.trees, base.metarange_id) == 0:
        elements = [element for element in elements if element.action is not ElementAction.INCREMENTAL_REMOVE]
    return Layer(elements=elements)


def _spilled(indexes: Indexes, base: Index, earlier: Layer) -> tuple[tuple[Run, ...], list[Write]]:
    """Return the runs, with the inline index's elements of earlier commits as the newest, and runs of similar size
    merged.
    """
    runs, writes = base.runs, list[Write]()
    if len(earlier):
        run, writes = write_run(indexes, earlier)
        runs = (run, *runs)
    count = _mergeable(indexes, runs)
    if count:
        # Runs that are merged at once were never referenced, so they are not written.
        newest = [earlier] if len(earlier) else []
        merged, writes = write_run(
            indexes, overlaid([*newest, *(read_run(indexes, r) for r in runs[len(newest) : count])])
        )
        runs = (merged, *runs[count:])
    return runs, writes


def _mergeable(indexes: Indexes, runs: tuple[Run, ...]) -> int:
    """Return the number of newest runs to merge into one: those up to a size of which there are `fan_out`."""
    fan_out, least, most = indexes.sizes.fan_out, 0, indexes.sizes.inline_bytes
    best = 0
    while True:
        alike = list(takewhile(lambda run: run.size <= most, runs))  # noqa: B023 - used up at once
        if sum(run.size > least for run in alike) >= fan_out:
            best = len(alike)
        if len(alike) == len(runs):
            return best
        least, most = most, most * fan_out
