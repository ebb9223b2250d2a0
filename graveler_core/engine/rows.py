"""Between tables of entries, of records and of differences, and the values that people see."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.codec.entry import entries
from graveler_core.committed.diff import Differences
from graveler_core.committed.index.three_way import Conflicts
from graveler_core.model.changes import Change, ChangeKind, MergeConflict, StagedRecord
from graveler_core.model.entry import ENTRY_SCHEMA, RECORD_SCHEMA, TOMBSTONE, Entry
from graveler_core.segments.merge import as_entries
from graveler_core.segments.sorted_keys import KEY


def tombstones(found: pa.Table) -> pa.Table:
    """A tombstone for the key of each entry."""
    gone = pa.array(np.ones(found.num_rows, np.bool_))
    nulls = [pa.nulls(found.num_rows, field.type) for field in ENTRY_SCHEMA if field.name != KEY]
    return pa.Table.from_arrays([found.column(KEY), *nulls, gone], schema=RECORD_SCHEMA)


def changes_of(found: Differences) -> Iterator[Change]:
    """Differences as values."""
    for key, before, after in zip(found.keys.to_pylist(), _side(found.before), _side(found.after), strict=True):
        kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
        yield Change(key.decode(), kind, before, after)


def staged_of(found: pa.Table) -> Iterator[StagedRecord]:
    """Records in `RECORD_SCHEMA` as values."""
    gone = found.column(TOMBSTONE)
    shown = entries(as_entries(found.filter(pc.invert(gone))))
    for key, is_gone in zip(found.column(KEY).to_pylist(), gone.to_pylist(), strict=True):
        yield StagedRecord(key.decode(), None if is_gone else next(shown))


def conflicts_of(found: Conflicts) -> list[MergeConflict]:
    """Conflicts as values."""
    sides = (_side(found.base), _side(found.source), _side(found.destination))
    return [
        MergeConflict(key.decode(), base, source, destination)
        for key, base, source, destination in zip(found.keys.to_pylist(), *sides, strict=True)
    ]


def _side(table: pa.Table) -> Iterator[Entry | None]:
    """The entries of a side, None where it has none."""
    present = table.column(KEY).is_valid()
    found = entries(table.filter(present))
    return (next(found) if there else None for there in present.to_pylist())
