"""The last administrator: no change of access control leaves nobody who may undo it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from graveler_core.errors import Conflict, Kind, NotFound
from graveler_core.facade.access import Access
from graveler_core.iam.last_administrator import require_left
from graveler_core.model.ids import GroupId, PolicyId
from graveler_core.records import iam_layout as keys
from tests.unit.engine.world import World

READER = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]
ALL = [{"effect": "allow", "actions": ["auth:*"], "resources": ["*"]}]
NOT_EVERY_USER = [*ALL, {"effect": "deny", "actions": ["auth:Attach*"], "resources": ["arn:graveler:auth:::user/b*"]}]
CHANGES: dict[str, Callable[[Access], object]] = {
    "user": lambda iam: iam.delete_user("ada"),
    "group": lambda iam: iam.delete_group("Admins"),
    "policy": lambda iam: iam.delete_policy("AuthFullAccess"),
    "member": lambda iam: iam.remove_member("Admins", "ada"),
    "attachment": lambda iam: iam.detach_policy("AuthFullAccess", group="Admins"),
    "credential": lambda iam: iam.delete_credential("ada", _key(iam, "ada")),
    "statements": lambda iam: iam.update_policy("AuthFullAccess", READER),
    "denial": lambda iam: iam.update_policy("AuthFullAccess", NOT_EVERY_USER),
}


def _key(iam: Access, user: str) -> str:
    return next(iter(iam.credentials(user))).access_key_id


@pytest.fixture
def iam(iam: Access) -> Access:
    """Access control with one administrator, and somebody who has an access key and may read."""
    iam.set_up("ada")
    iam.create_user("bob")
    iam.create_credential("bob")
    iam.add_member("Viewers", "bob")
    return iam


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_leaves_nobody_is_refused(world: World, iam: Access, change: str) -> None:
    before = [*world.kv.scan(b"graveler_iam")]
    with pytest.raises(Conflict, match="another user an administrator first") as caught:
        CHANGES[change](iam)
    assert caught.value.kind is Kind.LastAdministrator
    assert [*world.kv.scan(b"graveler_iam")] == before


@pytest.mark.parametrize("change", CHANGES)
def test_another_administrator_makes_it_possible(iam: Access, change: str) -> None:
    iam.create_policy("own", ALL)
    iam.attach_policy("own", user="bob")
    CHANGES[change](iam)
    with pytest.raises(Conflict):
        iam.detach_policy("own", user="bob")


def test_an_administrator_without_access_key_does_not_count(iam: Access) -> None:
    iam.create_user("eve")
    iam.add_member("Admins", "eve")
    with pytest.raises(Conflict):
        iam.delete_user("ada")
    iam.create_credential("eve")
    iam.delete_user("ada")


def test_a_second_access_key_is_enough(iam: Access) -> None:
    iam.create_credential("ada")
    iam.delete_credential("ada", _key(iam, "ada"))
    with pytest.raises(Conflict):
        iam.delete_credential("ada", _key(iam, "ada"))


def test_other_changes_are_made(iam: Access) -> None:
    iam.delete_policy("FSFullAccess")
    iam.remove_member("Viewers", "bob")
    iam.delete_credential("bob", _key(iam, "bob"))
    iam.delete_user("bob")
    iam.delete_group("Viewers")
    iam.update_policy("AuthFullAccess", [*READER, *ALL])
    with pytest.raises(NotFound):
        iam.delete_user("bob")


def test_it_counts_only_with_access_control(world: World) -> None:
    iam = world.graveler().iam
    iam.create_user("ada")
    iam.create_credential("ada")
    iam.create_policy("all", ALL)
    iam.attach_policy("all", user="ada")
    iam.delete_user("ada")


def test_a_store_that_nobody_administers_can_change(world: World, iam: Access) -> None:
    where = keys.group_policy(GroupId("Admins"), PolicyId("AuthFullAccess"))
    world.kv.delete(where.partition, where.key)
    require_left(world.kv, world.clock, keys.USERS.at("ada"))
    iam.delete_user("ada")
