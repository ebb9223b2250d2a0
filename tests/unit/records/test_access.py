"""Records by their keys, and what a lost answer of a swap means."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import CorruptData, GravelerError, OutcomeUnknown, PredicateFailed
from graveler_core.kv.backends.memory import open_memory
from graveler_core.model.entities import Tag
from graveler_core.model.ids import CommitId, RepositoryId, TagId
from graveler_core.records import access
from graveler_core.records import layout as keys
from graveler_core.records.access import LOST_ANSWERS
from tests.unit.engine.interposed import Interposed, denied, unavailable
from tests.unit.records.samples import REPOSITORY

WHERE = keys.tag(REPOSITORY, TagId("v1"))


def tag(commit: str) -> Tag:
    return Tag(id=TagId("v1"), commit_id=CommitId(commit))


@pytest.fixture
def kv() -> Interposed:
    return Interposed(open_memory("memory://"))


def test_read_many_keeps_the_order(kv: Interposed) -> None:
    access.write(kv, WHERE, tag("c1"))
    found = access.read_many(kv, [keys.repository(RepositoryId("none")), WHERE, keys.tag(REPOSITORY, TagId("v2"))])
    assert [held and held.value for held in found] == [None, tag("c1"), None]
    assert access.read_many(kv, []) == []


def test_damaged_records_are_reported_and_the_others_read(kv: Interposed) -> None:
    names = [TagId(name) for name in ("v0", "v1", "v2")]
    access.write(kv, WHERE, tag("c1"))
    kv.set(WHERE.partition, keys.tag(REPOSITORY, names[0]).key, b"junk")
    kv.reset()
    damaged: list[CorruptData] = []
    found = access.read_undamaged(kv, {name: keys.tag(REPOSITORY, name) for name in names}, damaged.append)
    assert {name: held and held.value for name, held in found.items()} == {"v1": tag("c1"), "v2": None}
    assert [error.details["name"] for error in damaged] == [keys.tag(REPOSITORY, names[0]).name]
    assert kv.verbs == ["get_many"]
    assert access.read_undamaged(kv, {}, damaged.append) == {}


def test_create_and_replace_and_remove(kv: Interposed) -> None:
    first = access.create(kv, WHERE, tag("c1"))
    with pytest.raises(PredicateFailed):
        access.create(kv, WHERE, tag("c2"))
    assert not access.write_if_absent(kv, WHERE, tag("c2"))
    second = access.replace(kv, WHERE, first, tag("c2"))
    with pytest.raises(PredicateFailed):
        access.replace(kv, WHERE, first, tag("c3"))
    assert not access.remove(kv, WHERE, first)
    assert access.read(kv, WHERE) == second
    assert access.remove(kv, WHERE, second)
    assert not access.remove(kv, WHERE, second)
    assert access.read(kv, WHERE) is None


@pytest.mark.parametrize("happened", [True, False])
def test_one_lost_answer_is_found_out(kv: Interposed, happened: bool) -> None:
    kv.lose[0] = happened
    first = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = happened
    second = access.replace(kv, WHERE, first, tag("c2"))
    assert access.read(kv, WHERE) == second
    kv.reset()
    kv.lose[0] = happened
    assert access.remove(kv, WHERE, second)
    assert access.read(kv, WHERE) is None


def test_a_removal_that_comes_through_late_is_one(kv: Interposed) -> None:
    """Taken for lost and sent again, it finds nothing."""
    held = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = False
    kv.before[2] = lambda: access.remove(kv, WHERE, held)
    assert access.remove(kv, WHERE, held)


@pytest.mark.parametrize("refusal", [unavailable(), denied()], ids=["unavailable", "denied"])
def test_a_refused_second_sending_does_not_undo_the_first(kv: Interposed, refusal: GravelerError) -> None:
    """The first may still be on its way, so nobody says that nothing has happened."""
    held = access.create(kv, WHERE, tag("c0"))
    for act in (
        lambda: access.replace(kv, WHERE, held, tag("c1")),
        lambda: access.remove(kv, WHERE, held),
        lambda: access.create(kv, keys.tag(REPOSITORY, TagId("v2")), tag("c1")),
    ):
        kv.reset()
        kv.lose[0] = False
        kv.fail[2] = refusal
        with pytest.raises(OutcomeUnknown):
            act()
        assert kv.verbs[2] in ("set_if", "delete_if")


def test_a_removal_lost_for_good(kv: Interposed) -> None:
    held = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose = dict.fromkeys(range(100), False)
    with pytest.raises(OutcomeUnknown):
        access.remove(kv, WHERE, held)
    assert kv.verbs.count("delete_if") == LOST_ANSWERS


@pytest.mark.parametrize("verb", ["create", "replace"])
def test_lost_for_good(kv: Interposed, verb: str) -> None:
    """Sent again and again without an answer: unknown, and after that it is given up."""
    held = None if verb == "create" else access.create(kv, WHERE, tag("c0"))
    kv.reset()
    kv.lose = dict.fromkeys(range(100), False)
    with pytest.raises(OutcomeUnknown):
        access.create(kv, WHERE, tag("c1")) if held is None else access.replace(kv, WHERE, held, tag("c1"))
    assert kv.verbs.count("set_if") == LOST_ANSWERS


def test_a_swap_that_comes_through_late_is_mine(kv: Interposed) -> None:
    """Taken for lost and sent again, it finds itself."""
    kv.lose[0] = False
    kv.before[2] = lambda: access.create(kv, WHERE, tag("c1"))
    assert access.create(kv, WHERE, tag("c1")).value == tag("c1")


@pytest.mark.parametrize("happened", [True, False])
def test_somebody_else_came_after_a_lost_answer(kv: Interposed, happened: bool) -> None:
    """What stands proves neither, unless it bears what only this swap can have brought."""
    first = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = happened
    kv.before[1] = lambda: access.write(kv, WHERE, tag("c3"))
    with pytest.raises(OutcomeUnknown):
        access.replace(kv, WHERE, first, tag("c2"))


def test_somebody_went_on_from_what_was_swapped_in(kv: Interposed) -> None:
    """It bears what only this swap can have brought."""
    first = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = True
    kv.before[1] = lambda: access.write(kv, WHERE, tag("c3"))
    found = access.replace(kv, WHERE, first, tag("c2"), mine=lambda current: current.commit_id == "c3")
    assert found.value == tag("c3")


def test_a_failed_look_leaves_it_unknown(kv: Interposed) -> None:
    """Never the look's own error: it says that nothing was changed."""
    first = access.create(kv, WHERE, tag("c1"))
    for act in (
        lambda: access.replace(kv, WHERE, first, tag("c2")),
        lambda: access.remove(kv, WHERE, first),
        lambda: access.create(kv, keys.tag(REPOSITORY, TagId("v2")), tag("c1")),
    ):
        kv.reset()
        kv.lose[0] = False
        kv.fail[1] = unavailable()
        with pytest.raises(OutcomeUnknown):
            act()


def replaced(kv: Interposed) -> None:
    """Replace the record. The response is lost, and another process damages the record."""
    held = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = True
    kv.before[1] = lambda: kv.set(WHERE.partition, WHERE.key, b"\x01{}")
    access.replace(kv, WHERE, held, tag("c2"))


def removed(kv: Interposed) -> None:
    held = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = False
    kv.before[1] = lambda: kv.set(WHERE.partition, WHERE.key, b"\x01{}")
    access.remove(kv, WHERE, held)


def recognised(kv: Interposed) -> None:
    """Replace the record. What recognises the swap finds something else that is damaged."""

    def mine(current: Tag) -> bool:
        raise CorruptData("a commit is damaged")

    held = access.create(kv, WHERE, tag("c1"))
    kv.reset()
    kv.lose[0] = True
    access.replace(kv, WHERE, held, tag("c2"), mine=mine)


@pytest.mark.parametrize("act", [replaced, removed, recognised])
def test_damage_after_a_lost_response_leaves_the_outcome_unknown(
    kv: Interposed, act: Callable[[Interposed], None]
) -> None:
    with pytest.raises(OutcomeUnknown) as caught:
        act(kv)
    assert isinstance(caught.value.__cause__, CorruptData)


def test_what_lives_on_was_not_removed(kv: Interposed) -> None:
    first = access.create(kv, WHERE, tag("c1"))
    for lives_on in (True, False):
        kv.reset()
        access.write(kv, WHERE, tag("c2"))
        kv.reset()
        kv.lose[0] = False
        bears = {True: lambda current: True, False: lambda current: False}[lives_on]
        assert access.remove(kv, WHERE, first, lives_on=bears) is not lives_on


def test_scan(kv: Interposed) -> None:
    folder = keys.tags(REPOSITORY)
    for name in ("b", "a", "ab", "c"):
        access.write(kv, folder.at(name), tag(name))
    kv.set(folder.partition, b"commits/x", b"of another kind")
    assert [name for name, _ in access.scan(kv, folder)] == ["a", "ab", "b", "c"]
    assert [name for name, _ in access.scan(kv, folder, prefix="a")] == ["a", "ab"]
    assert [name for name, _ in access.scan(kv, folder, after="ab")] == ["b", "c"]
    assert [name for name, _ in access.scan(kv, folder, prefix="a", after="a")] == ["ab"]
    assert [held.value.commit_id for _, held in access.scan(kv, folder, prefix="c")] == ["c"]


def test_damage_names_the_key(kv: Interposed) -> None:
    kv.set(WHERE.partition, WHERE.key, b"\x01{}")
    for look in (
        lambda: access.read(kv, WHERE),
        lambda: access.read_many(kv, [WHERE]),
        lambda: list(access.scan(kv, keys.tags(REPOSITORY))),
    ):
        with pytest.raises(CorruptData, match=r"^repo-u1/tags/v1: "):
            look()
