"""Compare and merge indexes at a few known keys, one by one, as records.

The results are those of `index.diff.diff_at` and `index.three_way` at the same keys. Columns take longer to set up than
a few keys take here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from graveler_core.codec.record_format import record_identity
from graveler_core.codec.staged_records import decode_records
from graveler_core.committed.index.indexes import Indexes
from graveler_core.committed.index.lookup import entries_of_few, identities_of_few, records_of_few
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.three_way import MergeInputs
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.entry import RECORD_SCHEMA, Entry
from graveler_core.model.index import Index

States: TypeAlias = tuple[bytes, Entry | None, Entry | None]
"""Key, and the entries before and after; `None` where there is none."""


@dataclass(frozen=True, slots=True)
class FewChanges:
    """Changes of a merge without conflicts."""

    changes: list[tuple[bytes, bytes]]
    """Key and staged record of each change to apply to the destination, sorted by key."""
    held: dict[bytes, bytes]
    """Identity of the destination's entry at each of these keys, b"" where there is none."""

    def table(self) -> pa.Table:
        """Return the changes in `RECORD_SCHEMA`."""
        if not self.changes:
            return RECORD_SCHEMA.empty_table()
        keys, records = (pa.array(column, pa.binary()) for column in zip(*self.changes, strict=True))
        return decode_records(keys, records)


def states_at(indexes: Indexes, left: Index, right: Index, keys: Sequence[bytes]) -> Iterator[States]:
    """Yield the states that differ at sorted, distinct `keys`, in order.

    Raises:
        CorruptData: An object of an index that had to be read is missing or damaged.
    """
    sides = (entries_of_few(indexes, side, keys) for side in (left, right))
    for key, before, after in zip(keys, *sides, strict=True):
        if _identity(before) != _identity(after):
            yield key, before, after


def few_changes(indexes: Indexes, inputs: MergeInputs, rules: MergeRules) -> FewChanges | None:
    """Return the changes that a merge applies to its destination.

    Returns:
        The changes. `None` if the keys that the source changed are not known or not few, if paths are resolved, or if
        there is a conflict that no strategy decides.

    Raises:
        CorruptData: An object of an index that had to be read is missing or damaged.
    """
    keys = inputs.changed
    if keys is None or len(keys) > indexes.sizes.few_keys or rules.resolutions is not None:
        return None
    base = identities_of_few(indexes, inputs.base, keys)
    moved = inputs.destination != inputs.base
    destination = identities_of_few(indexes, inputs.destination, keys) if moved else base
    changes: list[tuple[bytes, bytes]] = []
    held: dict[bytes, bytes] = {}
    for key, record, old, here in zip(
        keys, records_of_few(indexes, inputs.source, keys), base, destination, strict=True
    ):
        new = record_identity(record)
        if new == old:
            continue
        if here not in (old, new):
            if rules.strategy is None:
                return None
            if rules.strategy is MergeStrategy.DESTINATION:
                continue
        if here != new:
            changes.append((key, record))
            held[key] = here
    return FewChanges(changes, held)


def _identity(entry: Entry | None) -> bytes:
    return b"" if entry is None else entry.identity
