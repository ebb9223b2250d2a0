"""Repair of inline indexes that do not mark what their commits changed: alone, beside others, on damage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from graveler_core.codec.elements import Element, ElementAction, decode_elements, encode_elements
from graveler_core.codec.records import encode
from graveler_core.committed.index.layer import Layer, aged
from graveler_core.committed.index.layers import write_run
from graveler_core.errors import OutcomeUnknown
from graveler_core.gc.index_repair import IndexRepairs, repair_indexes
from graveler_core.model.entities import Layout, Superseded
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import CommitCache, StoredCommit
from graveler_core.records import layout as keys
from tests.unit.engine.interposed import SWAPS, Interposed
from tests.unit.engine.world import START, entry
from tests.unit.gc.places import Place

COMMITS = ("v1", "dev", "dev~7")
"""Commits whose changes are in their inline indexes."""


def put(place: Place, id: CommitId, layout: Layout) -> None:
    """Store another layout of a commit."""
    where = keys.commit_layout(place.repo, id)
    place.world.kv.set(where.partition, where.key, encode(layout))


def with_elements(layout: Layout, elements: list[Element]) -> Layout:
    return layout.model_copy(update={"index": replace(layout.index, inline=encode_elements(elements))})


def elements_of(layout: Layout) -> list[Element]:
    return decode_elements(layout.index.inline, "test")


def forget(place: Place, ref: str) -> StoredCommit:
    """Store a commit's inline index as the faulty version did; gives the commit as it was."""
    commit = place.commit(place.handle.commit(ref).id)
    assert any(element.action in (ElementAction.ADD, ElementAction.REMOVE) for element in elements_of(commit.layout))
    put(place, commit.id, with_elements(commit.layout, aged(elements_of(commit.layout))))
    return commit


def repaired(place: Place, kv: Interposed | None = None) -> IndexRepairs:
    stores = place.stores if kv is None else replace(place.stores, kv=kv)
    return repair_indexes(stores, place.repo)


def swaps(place: Place) -> tuple[Interposed, int]:
    """A store to step into, and the number of the call of a repair that swaps."""
    probe = Place(place.root, place.world.fork())
    kv = Interposed(probe.world.kv)
    repaired(probe, kv)
    (at,) = (number for number, verb in enumerate(kv.verbs) if verb in SWAPS)
    return Interposed(place.world.kv), at


def test_nothing_is_wrong(place: Place) -> None:
    found = repaired(place)
    assert (found.repaired, found.unrepaired) == ((), ())
    assert found.examined > 40


@pytest.mark.parametrize("deep", [False, True])
def test_marks_that_were_lost_are_found_and_made_anew(place: Place, deep: bool) -> None:
    commits = [forget(place, ref) for ref in COMMITS]
    lost = {commit.id for commit in commits}
    assert set(place.damage(deep=deep)) == {("inconsistent", "index", id) for id in lost}
    found = repaired(place)
    assert (set(found.repaired), found.unrepaired) == (lost, ())
    assert [place.commit(commit.id).layout for commit in commits] == [commit.layout for commit in commits]
    assert place.damage(deep=deep) == []
    assert repaired(place).repaired == ()


def test_a_commit_that_nothing_leads_to(place: Place) -> None:
    commit = forget(place, "dev")
    place.handle.delete_branch("dev")
    assert repaired(place).repaired == (commit.id,)
    assert place.commit(commit.id) == commit


def test_children_of_either_layout_are_the_same(place: Place) -> None:
    """A child takes what its parent's inline index holds as changes of earlier commits, however it is marked."""
    commit = forget(place, "dev")
    dev = place.handle.branch("dev")
    dev.stage("child", entry(5))
    child = dev.commit("child").id
    assert repaired(place).repaired == (commit.id,)
    before = place.commit(child).layout
    dev.hard_reset(commit.id)
    dev.stage("child", entry(5))
    assert place.commit(dev.commit("child").id).layout == before


def test_what_the_layout_named_before_stays_named(place: Place) -> None:
    commit = forget(place, "dev")
    former = Superseded(index=place.commit(place.handle.commit("v1").id).layout.index, since=START)
    broken = place.commit(commit.id).layout.model_copy(update={"superseded": (former,)})
    put(place, commit.id, broken)
    assert repaired(place).repaired == (commit.id,)
    assert place.commit(commit.id).layout == Layout(index=commit.layout.index, superseded=(former,))


def test_content_that_is_damaged_is_left_alone(place: Place) -> None:
    """The header disagrees with the content, too."""
    head = place.commit(place.handle.commit("dev").id)
    wrong = place.write(head.header.model_copy(update={"operations": "0" * 64}), head.layout)
    place.move("dev", wrong)
    found = repaired(place)
    assert found.repaired == ()
    assert [(left.commit, left.why) for left in found.unrepaired] == [
        (wrong, "its content does not give the operations digest of its header")
    ]
    assert place.commit(wrong).layout == head.layout
    assert place.damage() == [("inconsistent", "commit", wrong)]


def test_an_index_that_does_not_hold_all_changes_is_left_alone(place: Place) -> None:
    """The content is right, but one of the changes is in a run."""
    commit = place.commit(place.handle.commit("dev").id)
    elements = aged(elements_of(commit.layout))
    run, writes = write_run(place.stores.indexes(place.repo), Layer(elements=elements))
    for write in writes:
        place.world.kv.set(*write)
    own = next(e.key for e in elements_of(commit.layout) if e.action is ElementAction.ADD)
    kept = encode_elements([element for element in elements if element.key != own])
    broken = Layout(index=replace(commit.layout.index, runs=(run, *commit.layout.index.runs), inline=kept))
    put(place, commit.id, broken)
    (left,) = repaired(place).unrepaired
    assert (left.commit, left.why) == (commit.id, "its inline index does not contain all of its changes")
    assert place.commit(commit.id).layout == broken


def test_a_parent_without_a_layout(place: Place) -> None:
    commit = forget(place, "dev")
    where = keys.commit_layout(place.repo, commit.header.parents[0])
    place.world.kv.delete(where.partition, where.key)
    (left,) = repaired(place).unrepaired
    assert (left.commit, left.why) == (commit.id, "the layout of its first parent is missing")


def folded(layout: Layout) -> Layout:
    """A layout as a fold leaves it that took effect meanwhile: with something superseded."""
    former = Superseded(index=replace(layout.index, inline=b"", own_run=False), since=START + timedelta(1))
    return layout.model_copy(update={"superseded": (*layout.superseded, former)})


def test_a_fold_that_wins_is_kept(place: Place) -> None:
    commit = forget(place, "dev")
    kv, at = swaps(place)
    after_fold = folded(place.commit(commit.id).layout)
    kv.before[at] = lambda: put(place, commit.id, after_fold)
    assert repaired(place, kv).repaired == (commit.id,)
    found = place.commit(commit.id).layout
    assert found == Layout(index=commit.layout.index, superseded=after_fold.superseded)


ENDS: dict[str, Callable[[Place, StoredCommit], object]] = {
    "another repair": lambda place, commit: put(place, commit.id, commit.layout),
    "its deletion": lambda place, commit: place.world.kv.delete(
        keys.commit_layout(place.repo, commit.id).partition, keys.commit_layout(place.repo, commit.id).key
    ),
}


@pytest.mark.parametrize("end", ENDS)
def test_a_commit_that_needs_no_repair_any_more(place: Place, end: str) -> None:
    commit = forget(place, "dev")
    kv, at = swaps(place)
    kv.before[at] = lambda: ENDS[end](place, commit)
    found = repaired(place, kv)
    assert (found.repaired, found.unrepaired) == ((), ())


def test_a_layout_that_others_replace_again_and_again(place: Place) -> None:
    commit = forget(place, "dev")
    kv, at = swaps(place)

    def replaced() -> None:
        put(place, commit.id, folded(place.commit(commit.id).layout))

    kv.before = dict.fromkeys(range(at, at + 100), replaced)
    found = repaired(place, kv)
    assert found.repaired == ()
    assert [(left.commit, "repeat the repair" in left.why) for left in found.unrepaired] == [(commit.id, True)]
    assert repaired(place).repaired == (commit.id,)


@pytest.mark.parametrize("done", [False, True])
def test_a_lost_answer(place: Place, done: bool) -> None:
    """The swap is recognised, or unknown; the next repair completes it."""
    commit = forget(place, "dev")
    kv, at = swaps(place)
    kv.lose[at] = done
    try:
        assert repaired(place, kv).repaired == (commit.id,)
    except OutcomeUnknown:
        repaired(place)
    assert place.commit(commit.id) == commit


def test_the_cache_of_the_process_follows(place: Place) -> None:
    commit = forget(place, "dev")
    stores = replace(place.stores, commits=CommitCache())
    repair_indexes(stores, place.repo)
    held = stores.commits.get(keys.partition(place.repo), commit.id)
    assert held is not None
    assert held.layout == commit.layout


def test_damaged_headers_and_layouts_are_passed_over(place: Place) -> None:
    commit = forget(place, "dev")
    others = place.handle.commit("main").id, place.handle.commit("v1").id
    header, layout = keys.commit(place.repo, others[0]), keys.commit_layout(place.repo, others[1])
    place.world.kv.set(header.partition, header.key, b"damaged")
    place.world.kv.set(layout.partition, layout.key, b"damaged")
    assert repaired(place).repaired == (commit.id,)
