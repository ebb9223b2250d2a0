"""Flows on one user, group and policy, in all orders, and with a fault at each call: nothing grants what it must not.

At the end of each order what is left of what is gone grants nothing, neither now nor to a later bearer of its name;
where nothing failed nothing is left at all; and what was begun can be ended by anybody.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import pytest
from pydantic import SecretStr

from graveler_core.errors import Kind, NotFound
from graveler_core.facade.access import Access
from graveler_core.iam import creation, credentials, deletion, hashing, relations, sealing
from graveler_core.iam.effective import effective_policies
from graveler_core.model.ids import GroupId, PolicyId, UserId
from graveler_core.model.secrets_keys import SecretsKeys
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from tests.unit.engine.world import World
from tests.unit.iam.orders import FAULTS, UNCLEAR, Ended, Fate, Flow, Parts, ends

ADA, CREW, READ = UserId("ada"), GroupId("crew"), PolicyId("read")
KEPT_BY = SecretsKeys.new()
STATEMENTS = [{"effect": "allow", "actions": ["fs:*"], "resources": ["*"]}]


def begin(*done: Callable[[Access], object]) -> Callable[[], World]:
    """A world with a user, a group, a policy, and what else is done."""

    def made() -> World:
        world = World()
        iam = world.graveler().iam
        iam.create_user(ADA)
        iam.create_group(CREW)
        iam.create_policy(READ, STATEMENTS)
        for each in done:
            each(iam)
        return world

    return made


def joined(iam: Access) -> None:
    iam.add_member(CREW, ADA)


def shared(iam: Access) -> None:
    iam.attach_policy(READ, group=CREW)


def own(iam: Access) -> None:
    iam.attach_policy(READ, user=ADA)


def join(p: Parts) -> None:
    relations.add(p.kv, p.clock, p.ids, relations.membership(ADA, CREW))


def leave(p: Parts) -> None:
    relations.remove(p.kv, relations.membership(ADA, CREW))


def attach(p: Parts) -> None:
    relations.add(p.kv, p.clock, p.ids, relations.user_attachment(ADA, READ))


def detach(p: Parts) -> None:
    relations.remove(p.kv, relations.user_attachment(ADA, READ))


def share(p: Parts) -> None:
    relations.add(p.kv, p.clock, p.ids, relations.group_attachment(CREW, READ))


def key(p: Parts) -> None:
    credentials.create_credential(p.kv, p.clock, p.ids, ADA)


def kept_key(p: Parts) -> None:
    credentials.create_credential(p.kv, p.clock, p.ids, ADA, SecretsKeys(KEPT_BY))


def delete_user(p: Parts) -> None:
    deletion.delete_user(p.kv, ADA)


def delete_group(p: Parts) -> None:
    deletion.delete_group(p.kv, CREW)


def delete_policy(p: Parts) -> None:
    deletion.delete_policy(p.kv, READ)


def create_user(p: Parts) -> None:
    creation.create_user(p.kv, p.clock, p.ids, ADA)


def create_policy(p: Parts) -> None:
    creation.create_policy(p.kv, p.clock, p.ids, READ, STATEMENTS)


def update_policy(p: Parts) -> None:
    creation.update_policy(p.kv, p.ids, READ, STATEMENTS)


CASES: dict[str, tuple[Callable[[], World], list[Flow]]] = {
    "attach, delete the policy": (begin(), [attach, delete_policy]),
    "attach, delete the user": (begin(), [attach, delete_user]),
    "share, delete the group": (begin(), [share, delete_group]),
    "share, delete the policy": (begin(joined), [share, delete_policy]),
    "join, delete the group": (begin(shared), [join, delete_group]),
    "join, delete the user": (begin(shared), [join, delete_user]),
    "a credential, delete the user": (begin(own), [key, delete_user]),
    "a kept secret, delete the user": (begin(own), [kept_key, delete_user]),
    "two deletions of a user": (begin(own, joined), [delete_user, delete_user]),
    "two deletions of a policy": (begin(own, shared), [delete_policy, delete_policy]),
    "delete and create a user": (begin(own, joined), [delete_user, create_user]),
    "attach twice": (begin(), [attach, attach]),
    "attach and detach": (begin(own), [attach, detach]),
    "detach twice": (begin(own), [detach, detach]),
    "leave, delete the group": (begin(joined), [leave, delete_group]),
    "update and delete a policy": (begin(own), [update_policy, delete_policy]),
    "update twice": (begin(own), [update_policy, update_policy]),
    "attach, delete and create the policy": (begin(), [attach, delete_policy, create_policy]),
    "join, delete and create the user": (begin(shared), [join, delete_user, create_user]),
    "both sides are deleted": (begin(joined), [join, delete_user, delete_group]),
}

MANY = {case for case, (_, flows) in CASES.items() if len(flows) > 2 or case.startswith("two deletions")}
"""Those with faults take a while."""
EVERYDAY = {"attach, delete the policy", "join, delete the group", "update twice"}
"""Those that are tried with faults every day: a relation from either side, and a record that two flows change."""


def marks(case: str) -> tuple[pytest.MarkDecorator, ...]:
    """Return the tier of a case with faults."""
    return () if case in EVERYDAY else (pytest.mark.slow,) if case in MANY else (pytest.mark.ci,)


def left(world: World) -> list[str]:
    """The keys that name somebody who is not there under this uid, and records of which the deletion has not ended."""
    present = {
        (folder.prefix, name): held.value
        for folder in (keys.USERS, keys.GROUPS, keys.POLICIES)
        for name, held in access.scan(world.kv, folder)
    }
    found = [f"{name} {record.state}" for (_, name), record in present.items() if not record.active]

    def there(prefix: bytes, name: str, uid: str) -> bool:
        record = present.get((prefix, name))
        return record is not None and record.uid == uid

    for row in world.kv.scan(keys.USERS.partition):
        for folder, sides in NAMED.items():
            if row.key.startswith(folder.prefix):
                record = access.read(world.kv, folder.at(row.key[len(folder.prefix) :].decode()))
                assert record is not None
                if not all(there(prefix, *side(record.value)) for prefix, side in sides):
                    found.append(row.key.decode())
    return found


NAMED = {
    keys.MEMBERSHIPS: [
        (keys.USERS.prefix, lambda it: (it.user, it.user_uid)),
        (keys.GROUPS.prefix, lambda it: (it.group, it.group_uid)),
    ],
    keys.USER_POLICIES: [
        (keys.USERS.prefix, lambda it: (it.holder, it.holder_uid)),
        (keys.POLICIES.prefix, lambda it: (it.policy, it.policy_uid)),
    ],
    keys.GROUP_POLICIES: [
        (keys.GROUPS.prefix, lambda it: (it.holder, it.holder_uid)),
        (keys.POLICIES.prefix, lambda it: (it.policy, it.policy_uid)),
    ],
    keys.CREDENTIALS: [(keys.USERS.prefix, lambda it: (it.user, it.user_uid))],
    keys.SEALED_SECRETS: [(keys.USERS.prefix, lambda it: (it.user, it.user_uid))],
}


def granted(world: World) -> list[str]:
    return [policy.id for policy in effective_policies(world.kv, ADA) or ()]


def made_anew(world: World) -> None:
    """Delete what is there, and create what bears the names then."""
    iam = world.graveler().iam
    for delete, create in (
        (lambda: iam.delete_user(ADA), lambda: iam.create_user(ADA)),
        (lambda: iam.delete_group(CREW), lambda: iam.create_group(CREW)),
        (lambda: iam.delete_policy(READ), lambda: iam.create_policy(READ, STATEMENTS)),
    ):
        with suppress(NotFound):
            delete()
        create()


@pytest.fixture(autouse=True)
def same_hashes(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run is repeated exactly."""
    monkeypatch.setattr(hashing, "draw", lambda: SecretStr("secret"))
    monkeypatch.setattr(sealing, "token_bytes", bytes)
    monkeypatch.setattr(hashing, "hashed", lambda secret: "hash")


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(case, marks=pytest.mark.ci if len(flows) > 2 and case != "both sides are deleted" else ())
        for case, (_, flows) in CASES.items()
    ],
    ids=lambda name: name.replace(" ", "-"),
)
def test_all_orders(case: str) -> None:
    made, flows = CASES[case]
    count = 0
    for end in ends(made, flows):
        count += 1
        assert left(end.world) == [], end.schedule
        assert all(result in EXPECTED for result in end.results), (end.results, end.schedule)
        follows(end, flows)
    assert count > 0


@pytest.mark.parametrize(
    "case",
    [pytest.param(case, marks=marks(case)) for case in CASES],
    ids=lambda name: name.replace(" ", "-"),
)
def test_all_orders_with_a_fault(case: str) -> None:
    """A flow dies, or does not hear that a call was done, or a call arrives late: at last when all is made anew.

    Of three flows one may die, which makes orders enough.
    """
    made, flows = CASES[case]
    fates = FAULTS if len(flows) == 2 else (Fate.DIES,)
    seen: set[object] = set()
    for end in ends(made, flows, 1, fates):
        seen |= {*end.results, "late" * bool(end.late)}
        follows(end, flows)
        made_anew(end.world)
        end.arrive()
        iam = end.world.graveler().iam
        assert granted(end.world) == [], end.schedule
        assert [*iam.groups_of(ADA), *iam.members(CREW), *iam.policies_of(user=ADA), *iam.policies_of(group=CREW)] == []
        assert [*iam.credentials(ADA)] == [], end.schedule
        made_anew(end.world)
        assert left(end.world) == [], end.schedule
    assert "died" in seen
    assert ("late" in seen) == (Fate.LATE in fates)


EXPECTED = (None, Kind.UserNotFound, Kind.GroupNotFound, Kind.PolicyNotFound, Kind.AttachmentNotFound, Kind.UserExists,
            Kind.PolicyExists, Kind.MembershipNotFound)  # fmt: skip


def follows(end: Ended, flows: list[Flow]) -> None:
    """What callers were told is how it is."""
    iam = end.world.graveler().iam
    told = dict(zip((flow.__name__ for flow in flows), end.results, strict=True))
    there = {user.id for user in iam.users()}, {group.id for group in iam.groups()}, {p.id for p in iam.policies()}
    for (name, create), names in zip(DELETIONS.items(), there, strict=True):
        if told.get(name, "not asked") is None and create not in told:
            assert not names, (end.results, end.schedule)
    if told.get("delete_policy", "not asked") is None and "create_policy" not in told:
        assert granted(end.world) == []
    if told.get("attach") not in (None, *UNCLEAR):
        assert granted(end.world) == [], end.schedule
    if told.get("attach", "not asked") is None and set(told) == {"attach"}:
        assert granted(end.world) == [READ]


DELETIONS = {"delete_user": "create_user", "delete_group": "create_group", "delete_policy": "create_policy"}


def test_without_the_second_reading_keys_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search finds what the rules are for."""
    monkeypatch.setattr(relations, "_still", lambda *_: True)
    made, flows = CASES["attach, delete the policy"]
    assert any(left(end.world) for end in ends(made, flows))


def test_without_pruning_keys_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion, "_naming", lambda *_: [])
    made, flows = CASES["delete and create a user"]
    assert any(left(end.world) for end in ends(made, flows))
