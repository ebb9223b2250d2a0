"""The last administrator: no change of access control leaves nobody who may undo it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

import pytest

from graveler_core.errors import Conflict, Kind, NotFound, OutcomeUnknown
from graveler_core.facade.access import Access
from graveler_core.iam.last_administrator import _has_administrator, is_administrator
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.model.ids import GroupId, PolicyId, UserId
from graveler_core.records import iam_layout as keys
from graveler_core.testing.faulty_store import Fault, Faulty, Late, LoseRequest
from tests.unit.engine.interposed import Interposed
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
    "denial for a user": lambda iam: iam.attach_policy("locked", user="ada"),
    "denial for a group": lambda iam: iam.attach_policy("locked", group="Admins"),
    "membership in a denied group": lambda iam: iam.add_member("Locked", "ada"),
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
    iam.create_policy("locked", [{"effect": "deny", "actions": ["auth:*"], "resources": ["*"]}])
    iam.create_group("Locked")
    iam.attach_policy("locked", group="Locked")
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


def test_an_administrator_until_a_date_does_not_count(world: World, iam: Access) -> None:
    condition = {"DateLessThan": {"graveler:time": ["2999-01-01T00:00:00Z"]}}
    iam.create_policy("dated", [{**ALL[0], "conditions": condition}])
    iam.attach_policy("dated", user="bob")
    assert is_administrator(world.kv, world.clock, UserId("bob"))
    with pytest.raises(Conflict, match="at all times"):
        iam.delete_user("ada")


def test_an_administrator_who_will_be_denied_does_not_count(iam: Access) -> None:
    condition = {"DateGreaterThan": {"graveler:time": ["2999-01-01T00:00:00Z"]}}
    iam.add_member("Admins", "bob")
    iam.create_policy("later", [{"effect": "deny", "actions": ["auth:*"], "resources": ["*"], "conditions": condition}])
    iam.attach_policy("later", user="bob")
    with pytest.raises(Conflict, match="at all times"):
        iam.delete_user("ada")


def test_the_last_administrator_until_a_date_stays(world: World, iam: Access) -> None:
    condition = {"DateLessThan": {"graveler:time": ["2999-01-01T00:00:00Z"]}}
    iam.create_policy("dated", [{**ALL[0], "conditions": condition}])
    iam.attach_policy("dated", user="bob")
    where = keys.group_policy(GroupId("Admins"), PolicyId("AuthFullAccess"))
    world.kv.delete(where.partition, where.key)
    with pytest.raises(Conflict):
        iam.delete_user("bob")


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
    iam.delete_user("ada")


OTHERS: dict[str, Callable[[Access], object]] = {
    "user": lambda iam: iam.delete_user("bob"),
    "attachment": lambda iam: iam.detach_policy("own", user="bob"),
    "credential": lambda iam: iam.delete_credential("bob", _key(iam, "bob")),
    "statements": lambda iam: iam.update_policy("own", READER),
}
"""Changes that take the permissions of the second administrator."""
LEFT = keys.user_policy(UserId("bob"), PolicyId("own"))
PAIRS = [(change, "attachment") for change in CHANGES] + [("user", other) for other in OTHERS]


@pytest.mark.parametrize(("change", "other"), PAIRS)
def test_two_changes_at_once_leave_one(world: World, iam: Access, change: str, other: str) -> None:
    """The whole other change between any two calls. It waits until it may take the register over."""
    iam.create_policy("own", ALL)
    iam.attach_policy("own", user="bob")
    begun = world.fork()
    ended = Counter[tuple[bool, bool]]()
    for step in count():
        now = begun.fork()
        kv = Interposed(now.kv)
        results: list[bool] = []
        kv.before[step] = partial(_note, results, OTHERS[other], now.graveler().iam)
        done = _done(CHANGES[change], now.graveler(kv).iam)
        assert _has_administrator(now.kv, now.clock)
        assert now.kv.get(keys.CHANGE.partition, keys.CHANGE.key) is None
        if not results:
            break
        ended[done, *results] += 1
    assert ended.keys() == {(True, False), (False, True)}


def test_a_change_without_response_may_arrive_at_any_time(world: World, iam: Access) -> None:
    """All its requests are lost but one, which arrives while the other change waits, or between its later calls."""
    iam.create_policy("own", ALL)
    iam.attach_policy("own", user="bob")
    begun = world.fork()
    arrived = set[bool]()
    for calls in (6, 7, *range(190, 260)):
        now = begun.fork()
        lost: Iterator[Fault] = iter([Late(calls), LoseRequest(), LoseRequest()])
        kv = Faulty(now.kv, partial(_at, lost), now.clock)
        with pytest.raises(OutcomeUnknown):
            now.graveler(kv).iam.detach_policy("own", user="bob")
        _done(CHANGES["user"], now.graveler(kv).iam)
        assert _has_administrator(now.kv, now.clock)
        arrived.add(now.kv.get(LEFT.partition, LEFT.key) is None)
    assert arrived == {True, False}


def _note(results: list[bool], change: Callable[[Access], object], iam: Access) -> None:
    results.append(_done(change, iam))


def _at(lost: Iterator[Fault], call: StoreCall, number: int) -> Fault | None:
    return next(lost, None) if call.verb == "delete_if" and call.key == LEFT.key else None


def _done(change: Callable[[Access], object], iam: Access) -> bool:
    """Make a change, unless it would leave nobody."""
    try:
        change(iam)
    except Conflict:
        return False
    return True
