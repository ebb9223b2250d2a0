"""Histories of commits on layered indexes against dictionaries, whatever shape the sizes give the indexes."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.committed.index import layer
from graveler_core.committed.index.fold import fold
from graveler_core.committed.index.indexes import Sizes
from graveler_core.committed.index.layers import own_changes
from graveler_core.committed.index.lookup import identities_of_few, lookup, lookup_many
from graveler_core.committed.index.resolutions import MergeRules
from graveler_core.committed.index.successor import successor
from graveler_core.committed.index.three_way import MergeInputs, three_way, verdict
from graveler_core.model.changes import MergeStrategy
from graveler_core.model.index import Index
from tests.examples import examples
from tests.unit.committed.index.samples import CHANGES, HISTORIES, KEYS, STATES, TINY, World, tree_digest
from tests.unit.committed.index.test_three_way import STRATEGIES, oracle
from tests.unit.segments.samples import Changes, State, after, entries, records

SIZES = st.sampled_from(
    [
        TINY,
        Sizes(),
        Sizes(
            inline_bytes=400,
            object_bytes=600,
            fan_out=3,
            fold_elements=1_000,
            direct_share=1,
            small_elements=50,
            few_keys=0,
        ),
        Sizes(inline_bytes=300, fan_out=2, fold_elements=5, fold_share=1_000, few_keys=0),
    ]
)
ANY: dict[str, Any] = {"state": STATES, "history": HISTORIES, "sizes": SIZES}
COMMITS = {**ANY, "small": st.booleans()}
LOOKUPS = {**ANY, "keys": st.sets(KEYS, max_size=10)}
PAIRS = {**ANY, "at": st.data()}


def run(world: World, state: State, history: list[Changes], *, small: bool) -> list[tuple[Index, State]]:
    """The commits of a history and what they should hold; each says of itself what it should."""
    states: list[tuple[Index, State]] = [(world.root(state), dict(state))]
    for changes in history:
        base, before = states[-1]
        made = world.commit(base, changes, small=small and len(changes) <= 12)
        counts = made.operations, made.added, made.changed, made.removed
        assert counts == tree_digest(world, before, changes)
        assert made.given == len(changes)
        own = own_changes(world.indexes, made.index)
        assert own is None or own.table.equals(records(effective(before, changes)))
        states.append((made.index, after(before, changes)))
    return states


def effective(state: State, changes: Changes) -> Changes:
    """The changes that change something."""
    return {key: number for key, number in changes.items() if number != state.get(key)}


@settings(max_examples=examples(40))
@given(**COMMITS)
def test_every_commit_holds_what_it_should(state: State, history: list[Changes], sizes: Sizes, small: bool) -> None:
    world = World(sizes)
    for index, expected in run(world, state, history, small=small):
        assert world.content(index) == expected
        assert fold(world.indexes, index) == world.root(expected).metarange_id


def test_large_changes_go_into_the_metarange() -> None:
    state = {b"a/%04d" % number: 1 for number in range(400)}
    world = World(Sizes(held_bytes=4_000, few_keys=0))
    for count, direct in ((10, False), (90, True)):
        changes: Changes = dict.fromkeys(list(state)[:count], 2)
        ((_, _), (index, expected)) = run(world, state, [changes], small=False)
        assert (index.metarange_id == world.root(expected).metarange_id) == direct
        assert world.content(index) == expected


@settings(max_examples=examples(40))
@given(**COMMITS)
def test_commits_whose_layers_are_always_merged_as_tables(
    state: State, history: list[Changes], sizes: Sizes, small: bool
) -> None:
    """The same commits in every respect, the bytes of their inline indexes included."""
    by_element = run(World(sizes), state, history, small=small)
    with patch.object(layer, "_IN_PYTHON", -1):
        assert run(World(sizes), state, history, small=small) == by_element


@settings(max_examples=examples(40))
@given(**LOOKUPS)
def test_lookups(state: State, history: list[Changes], sizes: Sizes, keys: set[bytes]) -> None:
    world = World(sizes)
    index, expected = run(world, state, history, small=True)[-1]
    wanted = sorted(keys | set(list(expected)[:5]))
    found = lookup_many(world.indexes, index, wanted)
    assert found.equals(entries({key: expected[key] for key in wanted if key in expected}))
    for key, identity in zip(wanted, identities_of_few(world.indexes, index, wanted), strict=True):
        entry = lookup(world.indexes, index, key)
        assert (None if entry is None else entry.size) == expected.get(key)
        assert identity == (b"" if entry is None else entry.identity)


@settings(max_examples=examples(40))
@given(**PAIRS)
def test_differences_of_any_two_commits(state: State, history: list[Changes], sizes: Sizes, at: st.DataObject) -> None:
    world = World(sizes)
    commits = run(world, state, history, small=True)
    (left, before), (right, now) = (at.draw(st.sampled_from(commits)) for _ in range(2))
    expected = {
        key: (before.get(key), now.get(key))
        for key in sorted(before.keys() | now.keys())
        if before.get(key) != now.get(key)
    }
    found = world.differences(left, right)
    assert {key: tuple(sides) for key, sides in found.items()} == expected
    assert list(found) == list(expected)
    part = world.differences(left, right, prefix=b"p/", start=b"p/010", end=b"p/040")
    assert list(part) == [key for key in expected if b"p/010" <= key < b"p/040"]


@settings(max_examples=examples(40))
@given(state=STATES, history=HISTORIES, ours=CHANGES, theirs=CHANGES, strategy=STRATEGIES)
def test_merges_of_commits_on_a_history(
    state: State, history: list[Changes], ours: Changes, theirs: Changes, strategy: MergeStrategy | None
) -> None:
    world = World()
    base, below = run(world, state, history, small=False)[-1]
    source, destination = (world.commit(base, changes).index for changes in (ours, theirs))
    found = verdict(three_way(world.indexes, MergeInputs(base, source, destination), MergeRules(strategy)))
    result, conflicts = oracle(below, after(below, ours), after(below, theirs), strategy)
    assert found.conflicts.keys.to_pylist() == conflicts
    assert found.conflict_count == len(conflicts)
    made = world.written(successor(world.indexes, destination, found.changes))
    assert world.content(made.index) == result
