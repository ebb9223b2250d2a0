"""What a merge takes, leaves and cannot decide, against dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.apply import apply
from graveler_core.committed.three_way import MergeInputs, three_way, verdict
from graveler_core.committed.trees import Trees, read_node
from graveler_core.model.changes import MergeStrategy
from tests.unit.committed.samples import changed, content, counted, tiny_trees, tree, uncached
from tests.unit.segments.samples import CHANGES, STATES, Changes, State, after

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


def inputs(trees: Trees, base: State, ours: Changes, theirs: Changes) -> MergeInputs:
    root = tree(trees, base)
    return MergeInputs(root, changed(trees, root, ours), changed(trees, root, theirs))


@given(base=STATES, ours=CHANGES, theirs=CHANGES, strategy=STRATEGIES)
def test_merges_like_three_dicts(base: State, ours: Changes, theirs: Changes, strategy: MergeStrategy | None) -> None:
    trees = tiny_trees()
    merge = inputs(trees, base, ours, theirs)
    found = verdict(three_way(trees, merge, strategy))
    source, destination = after(base, ours), after(base, theirs)
    result, conflicts = oracle(base, source, destination, strategy)
    assert content(trees, apply(trees, merge.destination, found.changes).metarange_id) == result
    assert found.conflicts.keys.to_pylist() == conflicts
    assert found.conflict_count == len(conflicts)
    for side, state in zip(("base", "source", "destination"), (base, source, destination), strict=True):
        assert getattr(found.conflicts, side)["size"].to_pylist() == [state.get(key) for key in conflicts]


@given(base=STATES, ours=CHANGES, theirs=CHANGES)
def test_decisions_stream_into_apply(base: State, ours: Changes, theirs: Changes) -> None:
    trees = tiny_trees()
    merge = inputs(trees, base, ours, theirs)
    decisions = three_way(trees, merge, MergeStrategy.SOURCE)
    streamed = apply(trees, merge.destination, (decision.changes for decision in decisions))
    whole = verdict(three_way(trees, merge, MergeStrategy.SOURCE)).changes
    assert streamed == apply(trees, merge.destination, whole)


def test_conflicts_are_counted_beyond_what_is_listed() -> None:
    state = {b"%03d" % n: 1 for n in range(100)}
    trees = tiny_trees()
    merge = inputs(trees, state, dict.fromkeys(state, 2), dict.fromkeys(state, 3))
    found = verdict(three_way(trees, merge), max_conflicts=7)
    assert found.conflicts.keys.to_pylist() == sorted(state)[:7]
    assert (found.conflict_count, found.changes.num_rows) == (100, 0)


def test_a_source_without_changes_decides_nothing_and_reads_nothing() -> None:
    trees = tiny_trees()
    merge = inputs(trees, {b"a": 1}, {}, {b"a": 2})
    cold = uncached(trees)
    assert list(three_way(cold, merge)) == []
    assert counted(cold).reads == []


def test_what_all_share_is_not_read() -> None:
    state = {b"%05d" % n: n % 4 for n in range(3_000)}
    trees = tiny_trees()
    merge = inputs(trees, state, {b"00100": 9}, {b"02900": 9})
    cold = uncached(trees)
    levels = read_node(cold, merge.base).level + 1
    assert verdict(three_way(cold, merge)).changes["key"].to_pylist() == [b"00100"]
    assert len(counted(cold).reads) < 16 * levels


def test_differences_of_unlike_reach_meet_key_by_key() -> None:
    state = {b"%03d" % n: 1 for n in range(200)}
    late = dict.fromkeys(sorted(state)[100:], 3)
    trees = tiny_trees()
    found = verdict(three_way(trees, inputs(trees, state, dict.fromkeys(state, 2), late)))
    assert found.conflicts.keys.to_pylist() == sorted(late)
    assert found.changes["key"].to_pylist() == sorted(state)[:100]
    turned = verdict(three_way(trees, inputs(trees, state, late, dict.fromkeys(state, 2))))
    assert turned.conflicts.keys.to_pylist() == sorted(late)
