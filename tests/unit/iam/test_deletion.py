"""Deletion: what names an entity is pruned first, and nothing else is. All orders and crashes are in `test_orders`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import GravelerError, Kind, NotFound, OutcomeUnknown
from graveler_core.facade.access import Access
from graveler_core.iam.effective import effective_policies
from graveler_core.model.ids import UserId
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

STATEMENTS = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]


@pytest.fixture
def iam(world: World) -> Access:
    """Two of each, all tied to each other."""
    iam = world.graveler().iam
    for name in ("a", "ab"):
        iam.create_user(name)
        iam.create_credential(name)
        iam.create_group(name)
        iam.create_policy(name, STATEMENTS)
    for one in ("a", "ab"):
        for other in ("a", "ab"):
            iam.add_member(one, other)
            iam.attach_policy(one, user=other)
            iam.attach_policy(one, group=other)
    return iam


def names(world: World) -> set[str]:
    """The keys, of credentials only whose they are."""
    found = [row.key.decode().split("/") for row in world.kv.scan(b"graveler_iam")]
    return {"/".join(key[:2] if key[0] == "user_credentials" else key) for key in found if key[0] != "credentials"}


@pytest.mark.parametrize(
    ("delete", "gone"),
    [
        (lambda iam: iam.delete_user("a"), {"users/a", "user_credentials/a", "memberships/a/a", "memberships/a/ab",
                                           "user_policies/a/a", "user_policies/a/ab"}),
        (lambda iam: iam.delete_group("a"), {"groups/a", "memberships/a/a", "memberships/ab/a", "group_policies/a/a",
                                            "group_policies/a/ab"}),
        (lambda iam: iam.delete_policy("a"), {"policies/a", "user_policies/a/a", "user_policies/ab/a",
                                             "group_policies/a/a", "group_policies/ab/a"}),
    ],
    ids=["user", "group", "policy"],
)  # fmt: skip
def test_what_goes(world: World, iam: Access, delete: Callable[[Access], object], gone: set[str]) -> None:
    before = names(world)
    delete(iam)
    assert before - names(world) == gone
    left = [row.key for row in world.kv.scan(b"graveler_iam", prefix=b"credentials/")]
    assert len(left) == 2 - ("users/a" in gone)


@pytest.mark.parametrize("word", ["user", "group", "policy"])
def test_at_each_crash_it_grants_nothing_and_can_be_ended(word: str) -> None:
    """Before the first swap everything stands; after it nothing counts, whatever is pruned by then."""
    for number in range(40):
        world = World()
        iam = prepared(world)
        whole = effective_policies(world.kv, UserId("ada"))
        kv = Interposed(world.kv)
        kv.fail[number] = Crash()
        try:
            getattr(world.graveler(kv).iam, f"delete_{word}")(NAMES[word])
        except Crash:
            begun = "set_if" in kv.verbs[:number]
            expected = whole if not begun else None if word == "user" else ()
            assert effective_policies(world.kv, UserId("ada")) == expected
            getattr(iam, f"delete_{word}")(NAMES[word])
        else:
            break
        left = {row.key.split(b"/")[0].decode() for row in world.kv.scan(b"graveler_iam")}
        assert left == {"users", "groups", "policies", *KEPT[word]} - {FOLDERS[word]}
    assert number >= 5


NAMES = {"user": "ada", "group": "crew", "policy": "read"}
FOLDERS = {"user": "users", "group": "groups", "policy": "policies"}
KEPT = {
    "user": ["group_policies"],
    "group": ["credentials", "user_credentials"],
    "policy": ["memberships", "credentials", "user_credentials"],
}


def prepared(world: World) -> Access:
    iam = world.graveler().iam
    iam.create_user("ada")
    iam.create_credential("ada")
    iam.create_group("crew")
    iam.create_policy("read", STATEMENTS)
    iam.add_member("crew", "ada")
    iam.attach_policy("read", group="crew")
    return iam


@pytest.mark.parametrize("word", ["user", "group", "policy"])
@pytest.mark.parametrize("done", [True, False])
def test_lost_answers(word: str, done: bool) -> None:
    """It succeeds, or says that it does not know; then it can be repeated."""
    for number in range(40):
        world = World()
        iam = prepared(world)
        kv = Interposed(world.kv)
        kv.lose[number] = done
        try:
            getattr(world.graveler(kv).iam, f"delete_{word}")(NAMES[word])
        except OutcomeUnknown:
            getattr(iam, f"delete_{word}")(NAMES[word])
        with pytest.raises(NotFound):
            getattr(iam, word)(NAMES[word])
        assert not effective_policies(world.kv, UserId("ada"))
        if number >= len(kv.verbs):
            break
    assert number >= 5


def test_many_keys_are_pruned(world: World) -> None:
    iam = world.graveler().iam
    iam.create_group("crew")
    for number in range(250):
        iam.create_user(f"u{number}")
        iam.add_member("crew", f"u{number}")
    iam.delete_group("crew")
    assert list(world.kv.scan(b"graveler_iam", prefix=b"memberships/")) == []
    assert len(list(iam.users())) == 250


def test_a_second_one_finds_nothing(iam: Access) -> None:
    iam.delete_user("a")
    with pytest.raises(NotFound) as caught:
        iam.delete_user("a")
    assert caught.value.kind is Kind.UserNotFound
    assert isinstance(caught.value, GravelerError)
