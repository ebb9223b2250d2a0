"""Creating users, groups and policies: each name once, and what was half deleted out of the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, NotUnique, OutcomeUnknown
from graveler_core.facade.access import Access
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

STATEMENTS = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]
OTHERS = [{"effect": "deny", "actions": ["fs:*"], "resources": ["*"]}]


class Sort(NamedTuple):
    """Users, groups or policies."""

    word: str
    create: Callable[[Access, str], Any]
    taken: Kind
    missing: Kind


SORTS = [
    Sort("user", lambda iam, name: iam.create_user(name), Kind.UserExists, Kind.UserNotFound),
    Sort("group", lambda iam, name: iam.create_group(name), Kind.GroupExists, Kind.GroupNotFound),
    Sort("policy", lambda iam, name: iam.create_policy(name, STATEMENTS), Kind.PolicyExists, Kind.PolicyNotFound),
]
each_sort = pytest.mark.parametrize("sort", SORTS, ids=lambda sort: sort.word)


def rows(world: World) -> list[tuple[bytes, bytes]]:
    return [(row.key, row.value) for row in world.kv.scan(b"graveler_iam")]


@each_sort
def test_a_name_is_taken_once(iam: Access, sort: Sort) -> None:
    made = sort.create(iam, "a.b+c=d,e@f-G_1")
    assert getattr(iam, sort.word)(made.id) == made
    with pytest.raises(NotUnique) as caught:
        sort.create(iam, made.id)
    assert caught.value.kind is sort.taken
    assert repr(made.id) in caught.value.message
    getattr(iam, f"delete_{sort.word}")(made.id)
    with pytest.raises(NotFound) as gone:
        getattr(iam, sort.word)(made.id)
    assert gone.value.kind is sort.missing
    assert sort.create(iam, made.id).uid != made.uid


@each_sort
@pytest.mark.parametrize("name", ["", "a/b", "a*", "a?", "${user}", "a b", "ä", "a\n", 7])
def test_bad_names_change_nothing(world: World, iam: Access, name: Any, sort: Sort) -> None:
    for call in (
        lambda: sort.create(iam, name),
        lambda: getattr(iam, f"delete_{sort.word}")(name),
        lambda: getattr(iam, sort.word)(name),
    ):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.kind is Kind.InvalidName
        assert f"{sort.word} name {name!r}" in caught.value.message
    assert rows(world) == []


@each_sort
def test_a_creation_ends_a_deletion_that_died(world: World, iam: Access, sort: Sort) -> None:
    first = sort.create(iam, "it")
    kv = Interposed(world.kv)
    kv.fail[3] = Crash()
    with pytest.raises(Crash):
        getattr(world.graveler(kv).iam, f"delete_{sort.word}")("it")
    with pytest.raises(NotFound, match="is being deleted"):
        getattr(iam, sort.word)("it")
    assert sort.create(iam, "it").uid != first.uid


@each_sort
@pytest.mark.parametrize("done", [True, False])
def test_a_creation_is_sent_once(world: World, kv: Interposed, done: bool, sort: Sort) -> None:
    """A second request could come when it was deleted already."""
    kv.lose[0] = done
    if done:
        sort.create(world.graveler(kv).iam, "it")
    else:
        with pytest.raises(OutcomeUnknown):
            sort.create(world.graveler(kv).iam, "it")
    assert kv.verbs.count("set_if") == 1
    assert len(rows(world)) == done


class TestUpdate:
    def test_who_has_the_policy_keeps_it(self, iam: Access) -> None:
        iam.create_user("ada")
        made = iam.create_policy("p", STATEMENTS)
        iam.attach_policy("p", user="ada")
        changed = iam.update_policy("p", OTHERS)
        assert (changed.uid, changed.creation_date) == (made.uid, made.creation_date)
        assert iam.policy("p") == changed == next(iam.policies_of(user="ada"))
        assert iam.update_policy("p", OTHERS).nonce != changed.nonce

    def test_a_bad_one_changes_nothing(self, world: World, iam: Access) -> None:
        iam.create_policy("p", STATEMENTS)
        before = rows(world)
        with pytest.raises(InvalidInput, match="fs:Fly"):
            iam.update_policy("p", [{**STATEMENTS[0], "actions": ["fs:Fly"]}])
        with pytest.raises(NotFound):
            iam.update_policy("q", STATEMENTS)
        assert rows(world) == before

    def test_two_at_once_both_take_place(self, world: World, iam: Access, kv: Interposed) -> None:
        iam.create_policy("p", STATEMENTS)
        kv.before[1] = lambda: iam.update_policy("p", STATEMENTS)
        world.graveler(kv).iam.update_policy("p", OTHERS)
        assert iam.policy("p").statements[0].effect == "deny"


class TestList:
    @each_sort
    def test_in_order_with_prefix_after_and_limit(self, iam: Access, sort: Sort) -> None:
        for name in ("b-1", "B", "a-1", "a+1", "a"):
            sort.create(iam, name)
        listing = getattr(iam, {"policy": "policies"}.get(sort.word, f"{sort.word}s"))
        assert [it.id for it in listing()] == ["B", "a", "a+1", "a-1", "b-1"]
        assert [it.id for it in listing(prefix="a")] == ["a", "a+1", "a-1"]
        assert [it.id for it in listing(after="a", limit=2)] == ["a+1", "a-1"]
        assert [page.next for page in listing().pages(2)] == ["a", "a-1", None]
