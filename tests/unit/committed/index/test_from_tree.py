"""A tree that was built beside a commit's parent, verbatim and in steps, settles as what one commit would hold."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.from_tree import settled
from graveler_core.committed.index.successor import on_metarange, successor
from graveler_core.model.entry import RECORD_SCHEMA
from tests.unit.committed.index.samples import FEW_CHANGES, STATES, World
from tests.unit.segments.samples import Changes, State, row

Timed = Mapping[bytes, tuple[int, int] | None]
"""Number and time of the entry, which is also where it lies; None for a tombstone."""
KEYS = st.integers(0, 20).map(lambda n: b"p/%03d" % n)
TIMED = st.dictionaries(KEYS, st.none() | st.tuples(st.integers(0, 3), st.integers(0, 1)), max_size=15)


def timed(changes: Timed) -> pa.Table:
    """A sorted table in `RECORD_SCHEMA`; at time 0 as `samples.records` has it."""
    found = []
    for key in sorted(changes):
        change = changes[key]
        if change is None:
            found.append({"key": key, "tombstone": True})
            continue
        number, time = change
        moved = {"mtime": datetime(2026, 2, 1, tzinfo=UTC), "address": "elsewhere"} if time else {}
        found.append({**row(key, number), **moved, "tombstone": False})
    return pa.Table.from_pylist(found, schema=RECORD_SCHEMA)


@given(
    base=STATES | st.dictionaries(KEYS, st.integers(0, 3)),
    above=FEW_CHANGES,
    steps=st.lists(TIMED, min_size=1, max_size=3),
)
def test_as_one_commit(base: State, above: Changes, steps: list[Timed]) -> None:
    world = World()
    parent = world.commit(world.root(base), above).index
    tree = on_metarange(world.indexes, parent, timed(steps[0]), verbatim=True)
    for step in steps[1:]:
        tree = on_metarange(world.indexes, tree.index, timed(step), verbatim=True)
    found = settled(world.indexes, parent, tree)
    last: dict[bytes, tuple[int, int] | None] = {}
    for step in steps:
        last.update(step)
    at_once = world.written(successor(world.indexes, parent, timed(last)))
    assert fold(world.indexes, found.index) == fold(world.indexes, at_once.index)
    assert found.operations == at_once.operations
    assert (found.added, found.changed, found.removed) == (at_once.added, at_once.changed, at_once.removed)
