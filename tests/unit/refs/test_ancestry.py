"""First parents and merge bases over random histories, against answers found the long way, and what they read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from graveler_core.errors import CorruptData, Kind
from graveler_core.refs.ancestry import first_parents, merge_base
from tests.unit.refs.graphs import History, histories, name, names, picked


@given(picked())
def test_a_merge_base_is_the_first_of_the_best_common_ancestors(drawn: tuple[History, int, int]) -> None:
    history, left, right = drawn
    common = history.ancestors(left) & history.ancestors(right)
    best = {c for c in common if not any(c in history.ancestors(other) for other in common - {c})}
    found = merge_base(history.read, name(left), name(right))
    assert found == (name(history.ordered(best)[0]) if best else None)
    assert found == merge_base(history.read, name(right), name(left))


@given(picked())
def test_a_merge_base_reads_what_lies_between(drawn: tuple[History, int, int]) -> None:
    """What one side alone has and what stands before the base, the parents of these, and the two; each once."""
    history, left, right = drawn
    ours, theirs = history.ancestors(left), history.ancestors(right)
    merge_base(history.read, name(left), name(right))
    read = history.read_numbers()
    assert len(read) == len(set(read))
    between = set(ours ^ theirs)
    if ours & theirs:
        base = history.ordered(ours & theirs)[0]
        between = {c for c in between if history.place(c) < history.place(base)}
    assert set(read) <= between | {left, right}.union(*(history.parents[c] for c in between))


@given(picked())
def test_first_parents(drawn: tuple[History, int, int]) -> None:
    history, start, _ = drawn
    assert [commit.id for commit in first_parents(history.read, name(start))] == names(history.chain(start))


def test_criss_cross_is_decided_the_same_everywhere() -> None:
    history = History([[], [0], [0], [1, 2], [2, 1]], [0, 1, 1, 2, 2])
    assert merge_base(history.read, name(3), name(4)) == min(name(1), name(2))
    newer = History([[], [0], [0], [1, 2], [2, 1]], [0, 1, 2, 2, 2])
    assert merge_base(newer.read, name(3), name(4)) == merge_base(newer.read, name(4), name(3)) == name(2)


def test_dates_that_lie_do_not_matter() -> None:
    """Each commit is older than its parents; the base is found all the same, and nothing behind it is read."""
    parents = [[], *([n] for n in range(50)), [50], [50], [51], [52]]
    history = History(parents, list(range(len(parents), 0, -1)))
    assert merge_base(history.read, name(53), name(54)) == name(50)
    assert sorted(history.read_numbers()) == [50, 51, 52, 53, 54]


def test_an_old_line_that_was_merged_is_not_walked() -> None:
    """A branch that forked at the root and was merged a moment ago costs the reading of one commit."""
    main = [[], *([n] for n in range(200))]
    old = [[0], [201]]
    history = History([*main, *old, [200, 202], [203], [203]])
    assert merge_base(history.read, name(204), name(205)) == name(203)
    assert sorted(history.read_numbers()) == [203, 204, 205]
    history.reads.clear()
    assert merge_base(history.read, name(200), name(204)) == name(200)
    assert sorted(history.read_numbers()) == [200, 202, 203, 204]


def test_one_side_an_ancestor_of_the_other() -> None:
    history = History([[], *([n] for n in range(99))])
    assert merge_base(history.read, name(99), name(90)) == merge_base(history.read, name(90), name(99)) == name(90)
    assert set(history.read_numbers()) == set(range(90, 100))


def test_unrelated_histories_are_read_once() -> None:
    history = History([[], *([n] for n in range(99)), [], *([n] for n in range(100, 149))])
    assert merge_base(history.read, name(99), name(149)) is None
    assert merge_base(history.read, name(149), name(99)) is None
    assert sorted(history.read_numbers()) == sorted([*range(150), *range(150)])


def test_deep_histories() -> None:
    size = 20_000
    history = History([[]])
    below = history.at(0)
    for number in range(1, size):
        header = below.header.model_copy(update={"parents": (below.id,), "generation": number + 1})
        below = replace(below, id=name(number), header=header)
        history.put(below)
    assert merge_base(history.read, name(0), below.id) == name(0)
    assert len(history.reads) == size
    assert sum(1 for _ in first_parents(history.read, below.id)) == size


def test_a_generation_that_is_not_above_the_parents_is_damage() -> None:
    history = History([[], [0], [1], [1]])
    wrong = history.at(1)
    history.put(replace(wrong, header=wrong.header.model_copy(update={"generation": 3})))
    with pytest.raises(CorruptData) as caught:
        merge_base(history.read, name(2), name(3))
    assert caught.value.kind is Kind.CorruptCommit
    assert caught.value.details["commit"] in {name(2), name(3)}


@given(histories())
def test_a_commit_with_itself(history: History) -> None:
    for number in range(len(history.parents)):
        assert merge_base(history.read, name(number), name(number)) == name(number)
