"""Comparisons and merges of few keys as records, against those of the same keys as columns."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.record_format import TOMBSTONE_VALUE
from graveler_core.committed.index.diff import diff_at
from graveler_core.committed.index.few import few_changes, states_at
from graveler_core.committed.index.lookup import lookup_few, lookup_many, records_of_few
from graveler_core.committed.index.resolutions import MergeRules, resolutions
from graveler_core.committed.index.successor import small_successor, successor
from graveler_core.committed.index.three_way import three_way, verdict
from graveler_core.engine.reading.tables import changes_of
from graveler_core.model.changes import MergeStrategy
from graveler_core.segments.merge import as_records
from tests.examples import examples
from tests.unit.committed.index.samples import CHANGES, FEW_CHANGES, KEYS, STATES, World, rows
from tests.unit.committed.index.test_three_way import STRATEGIES, inputs
from tests.unit.segments.samples import Changes, State

FEW = replace(World().sizes, few_keys=16)


@settings(max_examples=examples(60))
@given(state=STATES, first=CHANGES, second=FEW_CHANGES, keys=st.sets(KEYS, max_size=16))
def test_states_at_few_keys_are_those_of_a_diff(
    state: State, first: Changes, second: Changes, keys: set[bytes]
) -> None:
    world = World(FEW)
    left = world.commit(world.root(state), first).index
    right = world.commit(left, second).index
    at = sorted(keys | second.keys())
    found = [(key.decode(), before, after) for key, before, after in states_at(world.indexes, left, right, at)]
    expected = [change for page in diff_at(world.indexes, left, right, at) for change in changes_of(page)]
    assert found == [(change.path, change.before, change.after) for change in expected]


@settings(max_examples=examples(60))
@given(state=STATES, changes=CHANGES, keys=st.sets(KEYS, max_size=16))
def test_records_of_few_keys_are_those_of_the_entries(state: State, changes: Changes, keys: set[bytes]) -> None:
    world = World(FEW)
    index = world.commit(world.root(state), changes).index
    at = sorted(keys)
    found = dict(zip(at, records_of_few(world.indexes, index, at), strict=True))
    entries = dict(zip(at, lookup_few(world.indexes, index, at), strict=True))
    assert [key for key in at if found[key] == TOMBSTONE_VALUE] == [key for key in at if entries[key] is None]
    there = lookup_many(world.indexes, index, at)
    assert [(key, found[key]) for key in at if entries[key] is not None] == rows(as_records(there))


@settings(max_examples=examples(120))
@given(base=STATES, ours=FEW_CHANGES, theirs=FEW_CHANGES, more=st.sets(KEYS, max_size=6), strategy=STRATEGIES)
def test_merges_of_few_changes_are_those_of_columns(
    base: State, ours: Changes, theirs: Changes, more: set[bytes], strategy: MergeStrategy | None
) -> None:
    world, rules = World(FEW), MergeRules(strategy)
    merge = replace(inputs(world, base, ours, theirs), changed=sorted(ours.keys() | more))
    columns = verdict(three_way(world.indexes, merge, rules))
    found = few_changes(world.indexes, merge, rules)
    if columns.conflict_count:
        assert found is None
        return
    assert found is not None
    assert found.table().equals(columns.changes)
    records = small_successor(world.indexes, merge.destination, found.changes, found.held)
    assert records == successor(world.indexes, merge.destination, columns.changes)


def test_other_merges_are_left_to_columns() -> None:
    world = World(replace(FEW, few_keys=2))
    state = {b"%03d" % n: 1 for n in range(5)}
    merge = inputs(world, state, dict.fromkeys(sorted(state)[:3], 2), {})
    few, three = sorted(state)[:2], sorted(state)[:3]
    assert few_changes(world.indexes, merge, MergeRules()) is None
    assert few_changes(world.indexes, replace(merge, changed=three), MergeRules()) is None
    resolved = MergeRules(resolutions=resolutions({"000": MergeStrategy.SOURCE}))
    assert few_changes(world.indexes, replace(merge, changed=few), resolved) is None
    found = few_changes(world.indexes, replace(merge, changed=few), MergeRules())
    assert found is not None
    assert [key for key, _ in found.changes] == few
