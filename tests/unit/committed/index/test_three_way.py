"""Tests of three-way merges against dictionaries: changes that are taken, left out, or in conflict."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.successor import successor
from graveler_core.committed.index.three_way import MergeInputs, three_way, verdict
from graveler_core.committed.trees import read_node
from graveler_core.model.changes import MergeStrategy
from tests.unit.committed.index.samples import CHANGES, STATES, World
from tests.unit.segments.samples import Changes, State, after

ABSENT = None
STRATEGIES = st.sampled_from([None, MergeStrategy.SOURCE, MergeStrategy.DESTINATION])


def oracle(
    base: State, source: State, destination: State, strategy: MergeStrategy | None
) -> tuple[dict[bytes, int], list[bytes]]:
    result, conflicts = dict(destination), []
    for key in sorted(base.keys() | source.keys() | destination.keys()):
        old, ours, theirs = base.get(key), source.get(key), destination.get(key)
        if ours in (old, theirs):
            continue
        if theirs != old and strategy is None:
            conflicts.append(key)
        elif theirs == old or strategy is MergeStrategy.SOURCE:
            result.pop(key, ABSENT)
            if ours is not None:
                result[key] = ours
    return result, conflicts


def inputs(world: World, base: State, ours: Changes, theirs: Changes) -> MergeInputs:
    root = world.root(base)
    return MergeInputs(root, world.commit(root, ours).index, world.commit(root, theirs).index)


@given(base=STATES, ours=CHANGES, theirs=CHANGES, strategy=STRATEGIES)
def test_merges_like_three_dicts(base: State, ours: Changes, theirs: Changes, strategy: MergeStrategy | None) -> None:
    world = World()
    merge = inputs(world, base, ours, theirs)
    found = verdict(three_way(world.indexes, merge, MergeRules(strategy)))
    source, destination = after(base, ours), after(base, theirs)
    result, conflicts = oracle(base, source, destination, strategy)
    made = world.written(successor(world.indexes, merge.destination, found.changes))
    assert world.content(made.index) == result
    assert found.conflicts.keys.to_pylist() == conflicts
    assert found.conflict_count == len(conflicts)
    for side, state in zip(("base", "source", "destination"), (base, source, destination), strict=True):
        assert getattr(found.conflicts, side)["size"].to_pylist() == [state.get(key) for key in conflicts]


@given(base=STATES, ours=CHANGES, theirs=CHANGES)
def test_decisions_stream_into_a_successor(base: State, ours: Changes, theirs: Changes) -> None:
    world = World()
    merge = inputs(world, base, ours, theirs)
    decisions = three_way(world.indexes, merge, MergeRules(MergeStrategy.SOURCE))
    streamed = successor(world.indexes, merge.destination, (decision.changes for decision in decisions))
    whole = verdict(three_way(world.indexes, merge, MergeRules(MergeStrategy.SOURCE))).changes
    assert streamed == successor(world.indexes, merge.destination, whole)


def test_conflicts_are_counted_beyond_what_is_listed() -> None:
    state = {b"%03d" % n: 1 for n in range(100)}
    world = World()
    merge = inputs(world, state, dict.fromkeys(state, 2), dict.fromkeys(state, 3))
    found = verdict(three_way(world.indexes, merge), max_conflicts=7)
    assert found.conflicts.keys.to_pylist() == sorted(state)[:7]
    assert (found.conflict_count, found.changes.num_rows) == (100, 0)


def test_a_source_without_changes_decides_nothing_and_reads_nothing() -> None:
    world = World()
    merge = inputs(world, {b"a": 1}, {}, {b"a": 2})
    world.blobs.reads.clear()
    assert list(three_way(world.indexes, merge)) == []
    assert world.blobs.reads == []


def test_what_all_share_is_not_read() -> None:
    state = {b"%05d" % n: n % 4 for n in range(1_500)}
    world = World()
    root = world.root(state)
    sides = [world.root(after(state, {key: 9})) for key in (b"00100", b"01400")]
    levels = read_node(world.indexes.trees, root.metarange_id).level + 1
    world.blobs.reads.clear()
    found = verdict(three_way(world.indexes, MergeInputs(root, *sides)))
    assert found.changes["key"].to_pylist() == [b"00100"]
    assert len(world.blobs.reads) < 16 * levels


def test_what_layers_share_is_not_read() -> None:
    state = {b"%05d" % n: n % 4 for n in range(1_500)}
    world = World()
    root = world.root(state)
    merge = MergeInputs(root, *(world.commit(root, {key: 9}).index for key in (b"00100", b"01400")))
    levels = read_node(world.indexes.trees, root.metarange_id).level + 1
    world.blobs.reads.clear()
    found = verdict(three_way(world.indexes, merge))
    assert found.changes["key"].to_pylist() == [b"00100"]
    assert len(world.blobs.reads) <= levels + 1


def test_differences_of_unlike_reach_meet_key_by_key() -> None:
    state = {b"%03d" % n: 1 for n in range(200)}
    late = dict.fromkeys(sorted(state)[100:], 3)
    world = World()
    found = verdict(three_way(world.indexes, inputs(world, state, dict.fromkeys(state, 2), late)))
    assert found.conflicts.keys.to_pylist() == sorted(late)
    assert found.changes["key"].to_pylist() == sorted(state)[:100]
    turned = verdict(three_way(world.indexes, inputs(world, state, late, dict.fromkeys(state, 2))))
    assert turned.conflicts.keys.to_pylist() == sorted(late)
