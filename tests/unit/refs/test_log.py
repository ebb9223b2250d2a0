"""Logs over random histories, against answers found the long way: what, in which order, from where on, at what cost."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.errors import CorruptData, NotFound
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.log import WIDEST, LogPosition, LogStep, log
from tests.unit.refs.graphs import START, History, name, names, picked


def ids(steps: Iterator[LogStep]) -> list[CommitId]:
    return [step.commit.id for step in steps]


def place(start: int, since: int | None = None) -> LogPosition:
    return LogPosition((name(start),), () if since is None else (name(since),))


@given(picked())
def test_every_ancestor_once_descendants_first_newer_first(drawn: tuple[History, int, int]) -> None:
    history, start, _ = drawn
    walked = ids(log(history.read, place(start)))
    assert walked == names(history.ordered(history.ancestors(start)))
    for at, commit in enumerate(walked):
        assert all(walked.index(parent) > at for parent in history.commits[commit].header.parents)
    assert sorted(history.reads) == sorted(walked)


@given(picked())
def test_first_parents_only(drawn: tuple[History, int, int]) -> None:
    history, start, _ = drawn
    assert ids(log(history.read, place(start), first_parent=True)) == names(history.chain(start))
    assert history.read_numbers() == history.chain(start)


@given(picked(), st.booleans(), st.integers(-1, 5))
def test_older_commits_end_their_line(drawn: tuple[History, int, int], first_parent: bool, hour: int) -> None:
    history, start, _ = drawn
    oldest = START + timedelta(hours=hour)

    def is_new(number: int) -> bool:
        return history.at(number).header.creation_date >= oldest

    reached, ahead = set[int](), [start]
    while ahead:
        at = ahead.pop()
        if at not in reached and is_new(at):
            reached.add(at)
            ahead += history.parents[at][: 1 if first_parent else None]
    whole = list(log(history.read, place(start), first_parent=first_parent, not_before=oldest))
    assert [step.commit.id for step in whole] == names(history.ordered(reached))
    for at, step in enumerate(whole):
        rest = log(history.read, step.behind, first_parent=first_parent, not_before=oldest)
        assert ids(rest) == [each.commit.id for each in whole[at + 1 :]]


@given(picked(), st.booleans())
def test_since(drawn: tuple[History, int, int], first_parent: bool) -> None:
    history, start, since = drawn
    shown = history.chain(start) if first_parent else history.ordered(history.ancestors(start))
    wanted = [number for number in shown if number not in history.ancestors(since)]
    assert ids(log(history.read, place(start, since), first_parent=first_parent)) == names(wanted)
    read = history.read_numbers()
    assert len(read) == len(set(read))
    reached = {start, *wanted}.union(*(history.parents[number][: 1 if first_parent else None] for number in wanted))
    last = max(history.place(number) for number in reached)
    left_out = {number for number in history.ancestors(since) if history.place(number) < last}
    assert set(read) <= {since} | reached | left_out.union(*(history.parents[number] for number in left_out))


@given(picked(), st.booleans(), st.booleans(), st.sampled_from([0, 1, 2, 3, WIDEST]))
def test_resuming_behind_any_commit_goes_on_as_if_never_stopped(
    drawn: tuple[History, int, int], first_parent: bool, bounded: bool, widest: int
) -> None:
    history, start, since = drawn

    def walk(begin: LogPosition) -> list[LogStep]:
        return list(log(history.read, begin, first_parent=first_parent, widest=widest))

    whole = walk(place(start, since if bounded else None))
    for at, step in enumerate(whole):
        rest = walk(step.behind)
        assert [each.commit.id for each in rest] == [each.commit.id for each in whole[at + 1 :]]
        for given_later, again in zip(rest, whole[at + 1 :], strict=True):
            assert ids(log(history.read, given_later.behind, first_parent=first_parent, widest=widest)) == ids(
                log(history.read, again.behind, first_parent=first_parent, widest=widest)
            )


@given(picked(), st.booleans())
def test_a_narrow_place_reads_nothing_again(drawn: tuple[History, int, int], first_parent: bool) -> None:
    history, start, _ = drawn
    whole = list(log(history.read, place(start), first_parent=first_parent))
    for at, step in enumerate(whole):
        assert step.behind.behind is None
        history.reads.clear()
        rest = ids(log(history.read, step.behind, first_parent=first_parent))
        assert sorted(history.reads) == sorted(rest) == sorted(each.commit.id for each in whole[at + 1 :])


@given(picked(), st.integers(0, 4))
def test_a_place_is_never_larger_than_allowed(drawn: tuple[History, int, int], widest: int) -> None:
    history, start, since = drawn
    begin = place(start, since)
    for step in log(history.read, begin, widest=widest):
        here = step.behind
        assert here.behind in {None, step.commit.id}
        allowed = widest if here.behind is None else max(widest, len(begin.ahead) + len(begin.without))
        assert len(here.ahead) + len(here.without) <= allowed


def test_a_wide_place_walks_again_from_where_it_was_narrow_last() -> None:
    """Forty branches from one commit, all merged at once, below a hundred commits of one line."""
    tips = list(range(1, 41))
    line = [[40 + n] for n in range(1, 101)]
    history = History([[], *([0] for _ in tips), tips, *line])
    whole = list(log(history.read, place(141)))
    wide = whole[105].behind
    assert (wide.ahead, wide.behind) == ((name(41),), whole[105].commit.id)
    history.reads.clear()
    assert ids(log(history.read, wide)) == [step.commit.id for step in whole[106:]]
    assert len(history.reads) == 1 + 1 + len(tips) + 1
    resumed = list(log(history.read, wide))
    assert [step.behind for step in resumed] == [step.behind for step in whole[106:]]


def test_new_commits_do_not_change_what_comes() -> None:
    before = History([[], [0], [0], [1, 2]], [0, 1, 2, 3])
    step = next(log(before.read, place(3)))
    after = History([*before.parents, [2], [3, 4], [5]], [0, 1, 2, 3, 9, 9, 9])
    assert ids(log(after.read, step.behind)) == names([2, 1, 0])


def test_siblings_are_newer_first() -> None:
    history = History([[], [0], [0], [1, 2]], [0, 5, 7, 9])
    assert ids(log(history.read, place(3))) == names([3, 2, 1, 0])


def test_a_log_reads_no_more_than_is_asked_for() -> None:
    history = History([[], *([n] for n in range(99))])
    walk = log(history.read, place(99))
    assert history.reads == []
    for wanted in (1, 2, 3):
        next(walk)
        assert len(history.reads) == wanted


def test_since_something_old_stops_where_nothing_is_left_to_show() -> None:
    history = History([[], *([n] for n in range(99)), [90]])
    assert ids(log(history.read, place(100, 99))) == names([100])
    assert set(history.read_numbers()) <= {100, *range(90, 100)}
    history.reads.clear()
    assert ids(log(history.read, place(99, 89))) == names(range(99, 89, -1))
    assert set(history.read_numbers()) == set(range(89, 100))
    assert ids(log(history.read, place(89, 99))) == []


def test_a_missing_commit_fails_only_when_the_walk_comes_there() -> None:
    history = History([[], [0], [1]])

    def read(commit: CommitId) -> StoredCommit:
        if commit == name(0):
            raise NotFound(f"commit {commit} does not exist")
        return history.read(commit)

    walk = log(read, place(2))
    assert ids(islice(walk, 2)) == names([2, 1])
    with pytest.raises(NotFound, match=name(0)):
        next(walk)


def test_a_generation_that_is_not_above_the_parents_is_damage() -> None:
    history = History([[], [0], [1]])
    wrong = history.at(0)
    history.put(replace(wrong, header=wrong.header.model_copy(update={"generation": 2})))
    with pytest.raises(CorruptData, match=name(1)):
        ids(log(history.read, place(2)))
