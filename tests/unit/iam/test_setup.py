"""Setting up: once, by one, and with somebody who can open the store whatever crashes."""

from __future__ import annotations

import pytest

from graveler_core.errors import Conflict, Kind, NotUnique, OutcomeUnknown
from graveler_core.facade.access import Access
from graveler_core.iam.principal import authenticate
from graveler_core.iam.setup import PRESET_GROUPS, PRESET_POLICIES
from graveler_core.model.iam import NewCredential
from graveler_core.model.permission import Action, Request, repository_resource, user_resource
from graveler_core.model.policy_document import parse_statements
from tests.unit.engine.interposed import Crash, Interposed
from tests.unit.engine.world import World

ANYTHING = [Request(action, "x") for action in Action]


def is_admin(world: World, made: NewCredential) -> bool:
    principal = authenticate(world.kv, world.clock, made.access_key_id, made.secret)
    return all(principal.allows(request) for request in ANYTHING if request.action is not Action.READ_CONFIG)


def test_what_it_makes(world: World, iam: Access) -> None:
    assert not iam.is_set_up
    made = iam.set_up("ada")
    assert iam.is_set_up
    assert is_admin(world, made)
    assert [group.id for group in iam.groups()] == sorted(PRESET_GROUPS)
    assert {policy.id: policy.statements for policy in iam.policies()} == PRESET_POLICIES
    for group, policies in PRESET_GROUPS.items():
        assert [policy.id for policy in iam.policies_of(group=group)] == sorted(policies)
    assert [user.id for user in iam.members("Admins")] == ["ada"]


@pytest.mark.parametrize("policy", PRESET_POLICIES)
def test_presets_keep_the_rules_of_policies(policy: str) -> None:
    assert parse_statements(policy, PRESET_POLICIES[policy]) == PRESET_POLICIES[policy]


@pytest.mark.parametrize(
    ("group", "allowed", "denied"),
    [
        ("Viewers", ["fs:ReadObject", "fs:ListObjects", "fs:ReadRepository", "fs:ListCommits"],
         ["fs:WriteObject", "fs:CreateBranch", "fs:CreateRepository", "branches:GetBranchProtectionRules",
          "auth:ReadUser"]),
        ("Developers", ["fs:ReadObject", "fs:WriteObject", "fs:DeleteObject", "fs:CreateCommit", "fs:RevertBranch",
                        "fs:CreateTag", "branches:GetBranchProtectionRules"],
         ["fs:CreateRepository", "fs:DeleteRepository", "fs:UpdateRepository", "fs:AttachStorageNamespace",
          "branches:SetBranchProtectionRules", "retention:CollectGarbage", "retention:SetGarbageCollectionRules",
          "auth:CreateUser"]),
        ("SuperUsers", ["fs:CreateRepository", "fs:DeleteRepository", "fs:UpdateRepository", "fs:ImportFromStorage"],
         ["branches:SetBranchProtectionRules", "retention:CollectGarbage", "auth:CreateUser"]),
        ("Admins", ["fs:DeleteRepository", "auth:CreateUser", "branches:SetBranchProtectionRules",
                    "retention:CollectGarbage", "retention:SetGarbageCollectionRules"], []),
    ],
)  # fmt: skip
def test_what_the_groups_may(iam: Access, group: str, allowed: list[str], denied: list[str]) -> None:
    iam.set_up("ada")
    iam.create_user("bob")
    iam.add_member(group, "bob")
    for action in allowed:
        assert iam.simulate("bob", action, repository_resource("flights")).allowed, action
    for action in denied:
        assert not iam.simulate("bob", action, repository_resource("flights")).allowed, action
    if group != "Admins":
        assert iam.simulate("bob", "auth:CreateCredentials", user_resource("bob")).allowed
        assert not iam.simulate("bob", "auth:CreateCredentials", user_resource("ada")).allowed
        assert not iam.simulate("bob", "auth:DeleteUser", user_resource("bob")).allowed


def test_only_once(world: World, iam: Access) -> None:
    iam.set_up("ada")
    before = list(world.kv.scan(b"graveler_iam"))
    for admin in ("ada", "bob"):
        with pytest.raises(NotUnique) as caught:
            iam.set_up(admin)
        assert caught.value.kind is Kind.IamSetUp
    assert list(world.kv.scan(b"graveler_iam")) == before


def test_what_is_there_already_stays(iam: Access) -> None:
    mine = iam.create_policy("FSReadAll", [{"effect": "deny", "actions": ["*"], "resources": ["*"]}])
    ada = iam.create_user("ada")
    iam.set_up("ada")
    assert iam.policy("FSReadAll") == mine
    assert iam.user("ada") == ada


def test_a_crash_leaves_an_open_store_or_one_that_somebody_can_open() -> None:
    for number in range(300):
        world = World()
        iam = world.graveler().iam
        seen: list[NewCredential] = []
        kv = Interposed(world.kv)
        kv.fail[number] = Crash()
        try:
            world.graveler(kv).iam.set_up("ada", show=seen.append)
        except Crash:
            assert not iam.is_set_up
            assert is_admin(world, iam.set_up("ada"))
        else:
            break
    assert number > 60
    assert kv.verbs[number - 1] == "set_if"
    assert is_admin(world, seen[0])


def test_the_secret_is_shown_before_the_store_is_closed(world: World, iam: Access) -> None:
    open_then: list[bool] = []
    iam.set_up("ada", show=lambda made: open_then.append(iam.is_set_up))
    assert open_then == [False]

    again = World()

    def broken(made: NewCredential) -> None:
        raise BrokenPipeError

    with pytest.raises(BrokenPipeError):
        again.graveler().iam.set_up("ada", show=broken)
    assert not again.graveler().iam.is_set_up


@pytest.mark.parametrize("other", ["bob", "ada"])
def test_of_two_at_once_one_wins(other: str) -> None:
    """Whatever call it is between which the other one comes."""
    losses = 0
    for number in range(300):
        world = World()
        made: list[NewCredential] = []
        kv = Interposed(world.kv)
        kv.before[number] = lambda world=world, made=made: made.append(world.graveler().iam.set_up(other))
        try:
            won = world.graveler(kv).iam.set_up("ada")
        except NotUnique:
            losses += 1
            won = made[0]
            assert won.user == other
        iam = world.graveler().iam
        assert [user.id for user in iam.members("Admins")] == [won.user]
        assert [each.access_key_id for each in iam.credentials(won.user)] == [won.access_key_id]
        assert is_admin(world, won)
        if kv.before:
            break
        kv.reset()
    assert losses > 60


@pytest.mark.parametrize("done", [True, False])
def test_lost_answers(done: bool) -> None:
    for number in range(300):
        world = World()
        kv = Interposed(world.kv)
        kv.lose[number] = done
        seen: list[NewCredential] = []
        try:
            made = world.graveler(kv).iam.set_up("ada", show=seen.append)
        except OutcomeUnknown:
            assert not world.graveler().iam.is_set_up
            made = world.graveler().iam.set_up("ada")
        assert is_admin(world, made)
        if number >= len(kv.verbs):
            break
    assert number > 60


READER = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]
DENIAL = [{"effect": "deny", "actions": ["auth:*"], "resources": ["*"]}]


def test_a_policy_with_the_name_of_a_preset_does_not_lock_everybody_out(iam: Access) -> None:
    shown = list[NewCredential]()
    iam.create_policy("AuthFullAccess", READER)
    with pytest.raises(Conflict, match="'ada': would not be an administrator") as refused:
        iam.set_up("ada", show=shown.append)
    assert refused.value.kind is Kind.LastAdministrator
    assert not iam.is_set_up
    assert not shown
    assert not list(iam.users())
    iam.delete_policy("AuthFullAccess")
    iam.set_up("ada")


@pytest.mark.parametrize("condition", [{}, {"DateGreaterThan": {"graveler:time": ["2999-01-01T00:00:00Z"]}}])
def test_a_denial_does_not_lock_everybody_out(iam: Access, condition: dict[str, object]) -> None:
    iam.create_policy("denial", [{**DENIAL[0], "conditions": condition}])
    iam.create_user("ada")
    iam.attach_policy("denial", user="ada")
    with pytest.raises(Conflict):
        iam.set_up("ada")
    assert not iam.is_set_up
    assert not list(iam.credentials("ada"))
