"""Conversions from tables of entries, records and differences to values for users."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry import entries
from graveler_core.committed.diff import Differences
from graveler_core.committed.index.three_way import Conflicts
from graveler_core.model.changes import CHANGE_SCHEMA, STATE_FIELDS, Change, ChangeKind, MergeConflict, StagedRecord
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE, Entry
from graveler_core.segments.merge import as_entries
from graveler_core.segments.sorted_keys import KEY


def tombstones(found: pa.Table) -> pa.Table:
    """Return a tombstone for the key of each entry."""
    gone = pa.array(np.ones(found.num_rows, np.bool_))
    nulls = [pa.nulls(found.num_rows, field.type) for field in ENTRY_SCHEMA if field.name != KEY]
    return pa.Table.from_arrays([found.column(KEY), *nulls, gone], schema=RECORD_SCHEMA)


def changes_of(found: Differences) -> Iterator[Change]:
    """Convert differences to values."""
    return map(change_of, found.keys.to_pylist(), _side(found.before), _side(found.after))


def change_of(key: bytes, before: Entry | None, after: Entry | None) -> Change:
    """Convert the states of one path to a value."""
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    return Change(key.decode(), kind, before, after)


def change_batch(found: Differences) -> pa.RecordBatch:
    """Convert differences, with all columns of both states, to a batch in `CHANGE_SCHEMA`."""
    added, removed = (_whole(side.column(KEY).is_null()) for side in (found.before, found.after))
    kinds = pc.if_else(added, ChangeKind.ADDED, pc.if_else(removed, ChangeKind.REMOVED, ChangeKind.CHANGED))
    states = [_states(found.before, added), _states(found.after, removed)]
    return pa.RecordBatch.from_arrays([found.keys, kinds, *states], schema=CHANGE_SCHEMA)


def staged_of(found: pa.Table) -> Iterator[StagedRecord]:
    """Convert records in `RECORD_SCHEMA` to values."""
    gone = found.column(TOMBSTONE)
    shown = entries(as_entries(found.filter(pc.invert(gone))))
    for key, is_gone in zip(found.column(KEY).to_pylist(), gone.to_pylist(), strict=True):
        yield StagedRecord(key.decode(), None if is_gone else next(shown))


def conflicts_of(found: Conflicts) -> list[MergeConflict]:
    """Convert conflicts to values."""
    sides = (_side(found.base), _side(found.source), _side(found.destination))
    return [
        MergeConflict(key.decode(), base, source, destination)
        for key, base, source, destination in zip(found.keys.to_pylist(), *sides, strict=True)
    ]


def _states(side: pa.Table, absent: pa.Array) -> pa.StructArray:
    arrays = [_whole(side.column(field.name)) for field in STATE_FIELDS]
    return pa.StructArray.from_arrays(arrays, fields=STATE_FIELDS, mask=absent)


def _whole(column: pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks()


def _side(table: pa.Table) -> Iterator[Entry | None]:
    """Yield the entries of one side; `None` for a row without an entry on that side."""
    present = table.column(KEY).is_valid()
    found = entries(table.filter(present))
    return (next(found) if there else None for there in present.to_pylist())
