"""Memberships and attachments: what is added is listed, what is not there is refused. Races are in `test_orders`."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import InvalidInput, Kind, NotFound, OutcomeUnknown
from graveler_core.facade.access import Access
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World

STATEMENTS = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]


@pytest.fixture
def iam(world: World) -> Access:
    iam = world.graveler().iam
    for name in ("ada", "a", "a+", "b"):
        iam.create_user(name)
        iam.create_group(f"g-{name}")
        iam.create_policy(f"p-{name}", STATEMENTS)
    return iam


def test_members(iam: Access) -> None:
    for user in ("b", "a+", "ada", "a"):
        iam.add_member("g-a", user)
    iam.add_member("g-a+", "a")
    assert [user.id for user in iam.members("g-a")] == ["a", "a+", "ada", "b"]
    assert [user.id for user in iam.members("g-a", prefix="a", after="a")] == ["a+", "ada"]
    assert [page.next for page in iam.members("g-a").pages(3)] == ["ada", None]
    assert [group.id for group in iam.groups_of("a")] == ["g-a", "g-a+"]
    assert [group.id for group in iam.groups_of("a", after="g-a")] == ["g-a+"]
    iam.remove_member("g-a", "a")
    assert [group.id for group in iam.groups_of("a")] == ["g-a+"]
    assert [user.id for user in iam.members("g-a")] == ["a+", "ada", "b"]


@pytest.mark.parametrize("holder", [{"user": "a"}, {"group": "g-a"}])
def test_attachments(iam: Access, holder: dict[str, str]) -> None:
    for name in ("p-b", "p-a+", "p-a"):
        iam.attach_policy(name, **holder)
    assert [policy.id for policy in iam.policies_of(**holder)] == ["p-a", "p-a+", "p-b"]
    assert [policy.id for policy in iam.policies_of(**holder, prefix="p-a", after="p-a")] == ["p-a+"]
    iam.detach_policy("p-a", **holder)
    assert [policy.id for policy in iam.policies_of(**holder)] == ["p-a+", "p-b"]
    assert list(iam.policies_of(user="ada")) == []


def test_what_is_there_stays(world: World, iam: Access) -> None:
    iam.add_member("g-a", "a")
    before = list(world.kv.scan(b"graveler_iam"))
    iam.add_member("g-a", "a")
    assert list(world.kv.scan(b"graveler_iam")) == before


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda iam: iam.add_member("g-a", "eve"), Kind.UserNotFound),
        (lambda iam: iam.add_member("eves", "a"), Kind.GroupNotFound),
        (lambda iam: iam.remove_member("g-a", "a"), Kind.MembershipNotFound),
        (lambda iam: iam.remove_member("g-a", "eve"), Kind.UserNotFound),
        (lambda iam: iam.attach_policy("none", user="a"), Kind.PolicyNotFound),
        (lambda iam: iam.attach_policy("p-a", user="eve"), Kind.UserNotFound),
        (lambda iam: iam.attach_policy("p-a", group="eves"), Kind.GroupNotFound),
        (lambda iam: iam.detach_policy("p-a", user="a"), Kind.AttachmentNotFound),
        (lambda iam: iam.detach_policy("p-a", group="g-a"), Kind.AttachmentNotFound),
        (lambda iam: list(iam.members("eves")), Kind.GroupNotFound),
        (lambda iam: list(iam.groups_of("eve")), Kind.UserNotFound),
        (lambda iam: list(iam.policies_of(user="eve")), Kind.UserNotFound),
        (lambda iam: list(iam.policies_of(group="eves")), Kind.GroupNotFound),
    ],
)
def test_what_is_not_there(world: World, iam: Access, call: Callable[[Access], object], kind: Kind) -> None:
    before = list(world.kv.scan(b"graveler_iam"))
    with pytest.raises(NotFound) as caught:
        call(iam)
    assert caught.value.kind is kind
    assert list(world.kv.scan(b"graveler_iam")) == before


@pytest.mark.parametrize("holder", [{}, {"user": "a", "group": "g-a"}])
def test_a_policy_has_one_holder_at_a_time(iam: Access, holder: dict[str, str]) -> None:
    for call in (iam.attach_policy, iam.detach_policy, lambda _, **given: iam.policies_of(**given)):
        with pytest.raises(InvalidInput, match="a user or a group"):
            call("p-a", **holder)


@pytest.mark.parametrize("done", [True, False])
def test_lost_answers(done: bool) -> None:
    for number in range(20):
        world = World()
        iam = world.graveler().iam
        iam.create_user("a")
        iam.create_group("g")
        kv = Interposed(world.kv)
        kv.lose[number] = done
        try:
            world.graveler(kv).iam.add_member("g", "a")
        except OutcomeUnknown:
            assert not done
            iam.add_member("g", "a")
        assert [user.id for user in iam.members("g")] == ["a"]
        if number >= len(kv.verbs):
            break
    assert number >= 3


def test_what_is_left_of_a_former_bearer_of_the_name_is_overwritten(world: World, iam: Access) -> None:
    """As after an addition that died beside a deletion."""
    iam.add_member("g-a", "a")
    (row,) = world.kv.scan(b"graveler_iam", prefix=b"memberships/a/")
    iam.delete_group("g-a")
    iam.create_group("g-a")
    world.kv.set(b"graveler_iam", row.key, row.value)
    assert [*iam.members("g-a"), *iam.groups_of("a")] == []
    with pytest.raises(NotFound):
        iam.remove_member("g-a", "a")
    iam.add_member("g-a", "a")
    assert [user.id for user in iam.members("g-a")] == ["a"]
