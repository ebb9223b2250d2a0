"""Walks over random histories, against answers found the long way."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from graveler_core.model.entities import Commit, Layout
from graveler_core.model.ids import CommitId, MetarangeId, Nonce
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import first_parents, log, merge_base

START = datetime(2026, 1, 1, tzinfo=UTC)


class History:
    """Commits by number; each lists its parents, which have smaller numbers; dates go as they please."""

    def __init__(self, parents: list[list[int]], hours: list[int]) -> None:
        self.parents = parents
        self.reads: list[CommitId] = []
        self.commits: dict[CommitId, StoredCommit] = {}
        for number, above in enumerate(parents):
            generation = 1 + max((self.at(p).header.generation for p in above), default=0)
            header = Commit(
                committer="",
                message="",
                creation_date=START + timedelta(hours=hours[number]),
                parents=tuple(name(p) for p in above),
                generation=generation,
                nonce=Nonce(""),
                operations="",
            )
            stored = StoredCommit(name(number), header, Layout(metarange_id=MetarangeId("")))
            self.commits[stored.id] = stored

    def at(self, number: int) -> StoredCommit:
        return self.commits[name(number)]

    def read(self, commit: CommitId) -> StoredCommit:
        self.reads.append(commit)
        return self.commits[commit]

    def ancestors(self, number: int) -> set[int]:
        return {number}.union(*(self.ancestors(p) for p in self.parents[number]))


def name(number: int) -> CommitId:
    return CommitId(f"{number:04}")


@st.composite
def histories(draw: st.DrawFn) -> tuple[History, int, int]:
    size = draw(st.integers(1, 14))
    parents: list[list[int]] = []
    for number in range(size):
        above = st.lists(st.integers(0, number - 1), max_size=2, unique=True) if number else st.just([])
        parents.append(draw(above))
    hours = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    picked = st.integers(0, size - 1)
    return History(parents, hours), draw(picked), draw(picked)


@given(histories())
def test_merge_base_is_a_best_common_ancestor(drawn: tuple[History, int, int]) -> None:
    history, left, right = drawn
    common = history.ancestors(left) & history.ancestors(right)
    best = {c for c in common if not any(c in history.ancestors(o) for o in common - {c})}
    found = merge_base(history.read, name(left), name(right))
    assert (found is None) == (not common)
    assert found is None or found in {name(c) for c in best}
    assert found == merge_base(history.read, name(right), name(left))
    if best:
        order = {c: (history.at(c).header.generation, history.at(c).header.creation_date) for c in best}
        top = max(order.values())
        assert found == min(name(c) for c in best if order[c] == top)


@given(histories())
def test_log_has_every_ancestor_once_and_descendants_first(drawn: tuple[History, int, int]) -> None:
    history, start, _ = drawn
    walked = [commit.id for commit in log(history.read, name(start))]
    assert sorted(walked) == sorted(name(c) for c in history.ancestors(start))
    for commit in walked:
        assert all(walked.index(p) > walked.index(commit) for p in history.commits[commit].header.parents)


@given(histories())
def test_first_parents(drawn: tuple[History, int, int]) -> None:
    history, start, _ = drawn
    chain, at = [start], history.parents[start]
    while at:
        chain.append(at[0])
        at = history.parents[at[0]]
    assert [commit.id for commit in first_parents(history.read, name(start))] == [name(c) for c in chain]
    assert [commit.id for commit in log(history.read, name(start), first_parent=True)] == [name(c) for c in chain]


def test_siblings_are_newer_first() -> None:
    history = History([[], [0], [0], [1, 2]], [0, 5, 7, 9])
    assert [commit.id for commit in log(history.read, name(3))] == [name(n) for n in (3, 2, 1, 0)]


def test_a_log_reads_no_more_than_is_asked_for() -> None:
    history = History([[], *([n] for n in range(99))], [0] * 100)
    walk = log(history.read, name(99))
    assert [next(walk).id for _ in range(3)] == [name(99), name(98), name(97)]
    assert len(history.reads) <= 4


def test_a_merge_base_reads_only_what_lies_between() -> None:
    parents = [[], *([n] for n in range(90)), [90], [90]]
    history = History(parents, [0] * 93)
    assert merge_base(history.read, name(91), name(92)) == name(90)
    assert len(history.reads) <= 4


def test_criss_cross_is_decided_the_same_everywhere() -> None:
    history = History([[], [0], [0], [1, 2], [2, 1]], [0, 1, 1, 2, 2])
    assert merge_base(history.read, name(3), name(4)) == merge_base(history.read, name(4), name(3)) == name(1)
