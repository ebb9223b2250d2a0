"""Tests of the policies of a user: all that are attached to the user and its groups at one moment."""

from __future__ import annotations

import pytest

from graveler_core.errors import Kind, SlowDown
from graveler_core.facade.access import Access
from graveler_core.iam.effective import effective_policies
from graveler_core.kv.store import Store
from graveler_core.model.ids import UserId
from tests.unit.engine.interposed import Interposed
from tests.unit.engine.world import World

STATEMENTS = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]
ADA = UserId("ada")


@pytest.fixture
def iam(world: World) -> Access:
    iam = world.graveler().iam
    iam.create_user("ada")
    for name in ("p1", "p2", "p3", "p4"):
        iam.create_policy(name, STATEMENTS)
    for name in ("g1", "g2", "g3"):
        iam.create_group(name)
    return iam


def names(kv: Store) -> list[str]:
    return [policy.id for policy in effective_policies(kv, ADA) or ()]


def test_its_own_and_those_of_its_groups_each_once(world: World, iam: Access) -> None:
    assert names(world.kv) == []
    iam.attach_policy("p2", user="ada")
    for policy, group in [("p2", "g1"), ("p1", "g1"), ("p3", "g2"), ("p4", "g3")]:
        iam.attach_policy(policy, group=group)
    for group in ("g1", "g2"):
        iam.add_member(group, "ada")
    assert names(world.kv) == ["p1", "p2", "p3"]
    iam.delete_group("g2")
    assert names(world.kv) == ["p1", "p2"]
    iam.detach_policy("p2", user="ada")
    assert names(world.kv) == ["p1", "p2"]
    iam.delete_policy("p1")
    assert names(world.kv) == ["p2"]
    iam.delete_user("ada")
    assert effective_policies(world.kv, ADA) is None


def test_a_policy_that_is_moved_is_never_missed() -> None:
    """From one group to another, before each single call: at every moment one of them has it."""
    for number in range(40):
        world = World()
        iam = world.graveler().iam
        iam.create_user("ada")
        iam.create_policy("p", STATEMENTS)
        for name in ("g1", "g2"):
            iam.create_group(name)
            iam.add_member(name, "ada")
        iam.attach_policy("p", group="g2")

        def moved(iam: Access = iam) -> None:
            iam.attach_policy("p", group="g1")
            iam.detach_policy("p", group="g2")

        kv = Interposed(world.kv)
        kv.before[number] = moved
        assert names(kv) == ["p"], number
        if kv.before:
            break
    assert number > 8


def test_changes_without_end_are_told(world: World, iam: Access) -> None:
    iam.attach_policy("p1", user="ada")
    kv = Interposed(world.kv)
    kv.before = {number: lambda: iam.update_policy("p1", STATEMENTS) for number in range(200)}
    with pytest.raises(SlowDown) as caught:
        names(kv)
    assert caught.value.kind is Kind.RetriesExhausted


def test_two_readings(world: World, iam: Access, kv: Interposed) -> None:
    """What it costs: user, memberships, attachments, a scan for each group, and all groups and policies at once."""
    for group in ("g1", "g2"):
        iam.add_member(group, "ada")
        iam.attach_policy("p1", group=group)
    names(kv)
    once = ["get", "scan", "get_many", "scan", "scan", "scan", "get_many"]
    assert kv.verbs == [*once, *once]


@pytest.mark.parametrize(
    ("prefix", "anew"),
    [
        ("user_policies/", "policy"),
        ("user_policies/", "user"),
        ("memberships/", "user"),
        ("memberships/", "group"),
        ("group_policies/", "group"),
        ("group_policies/", "policy"),
    ],
)
def test_what_names_a_former_bearer_grants_nothing(world: World, iam: Access, prefix: str, anew: str) -> None:
    """Each relation, as an addition that died beside the deletion of one side leaves it."""

    def tied() -> None:
        iam.attach_policy("p1", user="ada")
        iam.add_member("g1", "ada")
        iam.attach_policy("p2", group="g1")

    tied()
    kept = list(world.kv.scan(b"graveler_iam", prefix=prefix.encode()))
    for word, name in (("user", "ada"), ("group", "g1"), ("policy", "p1"), ("policy", "p2")):
        if word == anew:
            getattr(iam, f"delete_{word}")(name)
            iam.create_policy(name, STATEMENTS) if word == "policy" else getattr(iam, f"create_{word}")(name)
    tied()
    for row in kept:
        world.kv.set(b"graveler_iam", row.key, row.value)
    assert names(world.kv) == (["p2"] if prefix == "user_policies/" else ["p1"])
