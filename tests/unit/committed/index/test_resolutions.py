"""Merges in which single paths were decided beforehand, against dictionaries."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.index.resolutions import MergeRules, resolutions
from graveler_core.committed.index.successor import successor
from graveler_core.committed.index.three_way import MergeInputs, three_way, verdict
from graveler_core.errors import InvalidInput
from graveler_core.model.changes import MergeStrategy, Resolved
from graveler_core.model.entry import Entry
from tests.unit.committed.index.samples import CHANGES, KEYS, STATES, World
from tests.unit.segments.samples import Changes, State, after

STRATEGIES = st.sampled_from([None, MergeStrategy.SOURCE, MergeStrategy.DESTINATION])
RESOLVED = st.one_of(
    st.sampled_from(["source", "destination", MergeStrategy.SOURCE, None]), st.just(Entry(address="new", size=77))
)
PATHS = KEYS.filter(lambda key: b"\0" not in key).map(bytes.decode)
RESOLUTIONS = st.dictionaries(PATHS, RESOLVED, max_size=15)


def oracle(
    states: tuple[State, State, State], strategy: MergeStrategy | None, chosen: dict[str, Resolved]
) -> tuple[dict[bytes, int], list[bytes], list[bytes]]:
    """What is merged, the conflicts, and what was decided in vain."""
    base, source, destination = states
    result, conflicts, vain = dict(destination), [], []
    named = {path.encode(): choice for path, choice in chosen.items()}
    for key in sorted(base.keys() | source.keys() | destination.keys() | named.keys()):
        old, ours, theirs = base.get(key), source.get(key), destination.get(key)
        if ours == old:
            vain += [key] if key in named else []
            continue
        becomes: int | None
        if key in named:
            choice = named[key]
            sides = {None: None, "source": ours, "destination": theirs}
            becomes = choice.size if isinstance(choice, Entry) else sides[choice]
        elif theirs in (old, ours) or strategy is MergeStrategy.SOURCE:
            becomes = ours
        else:
            becomes = theirs
            conflicts += [key] if strategy is None else []
        result.pop(key, None)
        if becomes is not None:
            result[key] = becomes
    return dict(sorted(result.items())), conflicts, vain


@given(base=STATES, ours=CHANGES, theirs=CHANGES, strategy=STRATEGIES, chosen=RESOLUTIONS)
def test_decides_like_three_dicts_and_one_of_decisions(
    base: State, ours: Changes, theirs: Changes, strategy: MergeStrategy | None, chosen: dict[str, Resolved]
) -> None:
    world = World()
    root = world.root(base)
    merge = MergeInputs(root, world.commit(root, ours).index, world.commit(root, theirs).index)
    states = (base, after(base, ours), after(base, theirs))
    result, conflicts, vain = oracle(states, strategy, chosen)
    rules = MergeRules(strategy, resolutions(chosen))
    found = verdict(three_way(world.indexes, merge, rules))
    assert found.changes is not None
    made = world.written(successor(world.indexes, merge.destination, found.changes))
    assert world.content(made.index) == result
    assert found.conflicts.keys.to_pylist() == conflicts
    met = sorted(set(range(len(chosen))) - set(found.resolved.tolist()))
    assert [sorted(chosen, key=str.encode)[row].encode() for row in met] == vain


@given(base=STATES, ours=CHANGES, theirs=CHANGES, bound=st.integers(0, 4_000))
def test_what_is_too_much_to_keep_is_walked_again(base: State, ours: Changes, theirs: Changes, bound: int) -> None:
    world = World()
    root = world.root(base)
    merge = MergeInputs(root, world.commit(root, ours).index, world.commit(root, theirs).index)
    whole = verdict(three_way(world.indexes, merge))
    found = verdict(three_way(world.indexes, merge), max_bytes=bound)
    assert whole.changes is not None
    assert (found.changes is None) == (sum(d.changes.nbytes for d in three_way(world.indexes, merge)) > bound)
    assert (found.conflict_count, found.conflicts.keys) == (whole.conflict_count, whole.conflicts.keys)


@given(base=STATES, ours=CHANGES, theirs=CHANGES, after_key=KEYS, prefix=st.sampled_from([b"", b"p/", b"p/0", b"a"]))
def test_part_of_a_merge(base: State, ours: Changes, theirs: Changes, after_key: bytes, prefix: bytes) -> None:
    world = World()
    root = world.root(base)
    merge = MergeInputs(root, world.commit(root, ours).index, world.commit(root, theirs).index)
    whole = verdict(three_way(world.indexes, merge)).conflicts.keys.to_pylist()
    part = verdict(three_way(world.indexes, merge, prefix=prefix, start=after_key)).conflicts.keys.to_pylist()
    assert part == [key for key in whole if key >= after_key and key.startswith(prefix)]


def test_both_sides_alike_may_still_be_decided_otherwise() -> None:
    world = World()
    root = world.root({b"a": 1})
    side = world.commit(root, {b"a": 2}).index
    rules = MergeRules(None, resolutions({"a": None}))
    found = verdict(three_way(world.indexes, MergeInputs(root, side, side), rules))
    assert found.changes is not None
    assert found.changes["tombstone"].to_pylist() == [True]


@pytest.mark.parametrize("choice", ["ours", "", 7, b"source", True])
def test_what_is_no_resolution_is_refused(choice: object) -> None:
    with pytest.raises(InvalidInput, match="must be 'source', 'destination', an entry or None"):
        resolutions({"a": choice})  # type: ignore[dict-item]


def test_bad_paths_and_entries_are_refused() -> None:
    for path, choice in (("", "source"), ("a", Entry(address="x", size=-1))):
        with pytest.raises(InvalidInput):
            resolutions({path: choice})  # type: ignore[dict-item]
    assert resolutions({}) is None
