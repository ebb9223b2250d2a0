"""Writes of several rows, of which some refer to others."""

from __future__ import annotations

from collections.abc import Sequence

from graveler_core.kv.bulk import set_many
from graveler_core.kv.store import Item, Store
from graveler_core.records import layout as keys


def write_rows(kv: Store, rows: Sequence[Item]) -> None:
    """Write rows of any partitions: in one step, or objects before the rows that refer to them.

    A process may be killed at any time, and a store that writes rows in several steps writes them in any order. A
    layout must never remain without the runs that it names, because their content is then unknown.
    """
    objects = [row for row in rows if row[1].startswith(keys.OBJECTS)]
    others = [row for row in rows if not row[1].startswith(keys.OBJECTS)]
    steps = [rows] if kv.sets_atomically() else [objects, others]
    for step in steps:
        set_many(kv, step)
