"""Commits of a merge's source, repeated one by one: what each brings, and that they end where one commit would."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.committed.index.replay import replayed, rest
from graveler_core.committed.index.resolutions import MergeRules, resolutions
from graveler_core.committed.index.successor import successor
from graveler_core.committed.index.three_way import MergeInputs, three_way, verdict
from graveler_core.model.changes import MergeStrategy, Resolved
from graveler_core.model.index import Index
from tests.unit.committed.index.samples import CHANGES, FEW_CHANGES, STATES, World
from tests.unit.committed.index.test_resolutions import RESOLUTIONS, STRATEGIES, oracle
from tests.unit.segments.samples import Changes, State, after

STEPS = st.lists(st.one_of(FEW_CHANGES, CHANGES), min_size=1, max_size=5)


def line(world: World, root: Index, steps: list[Changes]) -> list[Index]:
    """The root and what each step makes of the one before."""
    states = [root]
    for step in steps:
        states.append(world.commit(states[-1], step).index)
    return states


def repeat(world: World, merge: MergeInputs, rules: MergeRules, states: list[Index]) -> list[Index]:
    """The destination, and what each repeated step makes of it; last, with the rest."""
    at = [merge.destination]
    for before, behind in pairwise(states):
        changes = replayed(world.indexes, merge, rules, before, behind)
        at.append(world.written(successor(world.indexes, at[-1], changes)).index)
    whole = (decision.changes for decision in three_way(world.indexes, merge, rules))
    at.append(world.written(successor(world.indexes, at[-1], rest(world.indexes, at[-1], whole))).index)
    return at


@given(base=STATES, steps=STEPS, theirs=CHANGES, strategy=STRATEGIES, chosen=RESOLUTIONS)
def test_the_last_holds_what_one_commit_would(
    base: State, steps: list[Changes], theirs: Changes, strategy: MergeStrategy | None, chosen: dict[str, Resolved]
) -> None:
    """Conflicts left by no strategy are the destination's: a merge with any never comes so far."""
    world = World()
    root = world.root(base)
    states = line(world, root, steps)
    merge = MergeInputs(root, states[-1], world.commit(root, theirs).index)
    source = base
    for step in steps:
        source = after(source, step)
    result, _, _ = oracle((base, source, after(base, theirs)), strategy, chosen)
    rules = MergeRules(strategy, resolutions(chosen))
    made = repeat(world, merge, rules, states)
    assert world.content(made[-1]) == result
    values = {path.encode() for path, choice in chosen.items() if not isinstance(choice, str)}
    assert world.differences(made[-2], made[-1]).keys() <= values


@given(base=STATES, steps=STEPS, theirs=CHANGES)
def test_each_holds_its_own_step_where_the_destination_changed_other_keys(
    base: State, steps: list[Changes], theirs: Changes
) -> None:
    world = World()
    touched = set().union(*steps)
    elsewhere = {key: number for key, number in theirs.items() if key not in touched}
    root = world.root(base)
    states = line(world, root, steps)
    made = repeat(world, MergeInputs(root, states[-1], world.commit(root, elsewhere).index), MergeRules(), states)
    expected = after(base, elsewhere)
    for step, index in zip(steps, made[1:], strict=False):
        expected = after(expected, step)
        assert world.content(index) == expected
    assert world.differences(made[-2], made[-1]) == {}


def test_a_change_taken_back_is_repeated_and_taken_back() -> None:
    world = World()
    root = world.root({b"a": 1, b"b": 1})
    states = line(world, root, [{b"a": 2, b"b": 2}, {b"a": 1, b"b": 1}])
    merge = MergeInputs(root, states[-1], world.commit(root, {b"b": 5}).index)
    made = repeat(world, merge, MergeRules(MergeStrategy.SOURCE), states)
    assert [world.content(index) for index in made] == [
        {b"a": 1, b"b": 5},
        {b"a": 2, b"b": 5},
        {b"a": 1, b"b": 5},
        {b"a": 1, b"b": 5},
    ]


def test_what_the_source_s_line_never_changed_is_the_rest() -> None:
    """Merges to and fro: the base is another commit than the one where the line begins."""
    world = World()
    begin = world.root({b"a": 0, b"b": 0})
    base = world.commit(begin, {b"a": 1}).index
    states = line(world, begin, [{b"b": 3}])
    merge = MergeInputs(base, states[-1], world.commit(base, {b"a": 2}).index)
    assert verdict(three_way(world.indexes, merge)).conflict_count == 1
    made = repeat(world, merge, MergeRules(MergeStrategy.SOURCE), states)
    assert world.content(made[-2]) == {b"a": 2, b"b": 3}
    assert world.content(made[-1]) == {b"a": 0, b"b": 3}
