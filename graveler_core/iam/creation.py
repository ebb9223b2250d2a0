"""Creation of users, groups and policies, and changes of policies.

Each creation is one compare-and-swap of a record under a name that has none. A crash before it leaves nothing, and
after it nothing remains to be done. The request is sent only once, because a delayed second request could restore an
entity that was deleted meanwhile. If a deletion of the name has started, the creation completes it first. The new
entity has a new uid, so requests that still belong to the old entity cannot affect it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from graveler_core.codec.records import encode
from graveler_core.errors import NotUnique, PredicateFailed
from graveler_core.iam.change_guard import ChangeGuard, unguarded
from graveler_core.iam.deletion import complete
from graveler_core.iam.entities import ATTEMPTS, GROUPS, POLICIES, USERS, EntityKind, contended, usable
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Entity, Group, Policy, User
from graveler_core.model.ids import EntityUid, GroupId, Nonce, PolicyId, UserId
from graveler_core.model.policy_document import parse_statements
from graveler_core.records import access

E = TypeVar("E", bound=Entity)


def create_user(kv: Store, clock: Clock, ids: IdSource, name: UserId) -> User:
    """Create a user.

    Raises:
        NotUnique: A user with this name exists (`UserExists`).
    """
    return _create(kv, USERS, User(id=name, uid=EntityUid(ids.fresh()), creation_date=clock.now()))


def create_group(kv: Store, clock: Clock, ids: IdSource, name: GroupId) -> Group:
    """Create a group.

    Raises:
        NotUnique: A group with this name exists (`GroupExists`).
    """
    return _create(kv, GROUPS, Group(id=name, uid=EntityUid(ids.fresh()), creation_date=clock.now()))


def create_policy(kv: Store, clock: Clock, ids: IdSource, name: PolicyId, statements: Sequence[object]) -> Policy:
    """Create a policy.

    Args:
        kv: Key-value store.
        clock: Source of the creation date.
        ids: Source of the uid.
        name: Name of the policy.
        statements: Statements as in a policy document, or `Statement` values.

    Returns:
        The policy.

    Raises:
        InvalidInput: A statement breaks a rule of `model.policy_document`.
        NotUnique: A policy with this name exists (`PolicyExists`).
    """
    policy = Policy(
        id=name,
        uid=EntityUid(ids.fresh()),
        creation_date=clock.now(),
        statements=parse_statements(name, statements),
        nonce=Nonce(ids.fresh()),
    )
    return _create(kv, POLICIES, policy)


def update_policy(
    kv: Store, ids: IdSource, name: PolicyId, statements: Sequence[object], guard: ChangeGuard = unguarded
) -> Policy:
    """Replace the statements of a policy in one compare-and-swap. Attachments stay.

    Args:
        kv: Key-value store.
        ids: Source of the nonce.
        name: Name of the policy.
        statements: The new statements.
        guard: Guard of the change.

    Returns:
        The changed policy.

    Raises:
        InvalidInput: A statement breaks a rule of `model.policy_document`.
        NotFound: The policy does not exist.
    """
    checked = parse_statements(name, statements)
    for _ in range(ATTEMPTS):
        held = access.read(kv, POLICIES.at(name))
        now = usable(POLICIES, name, held)
        assert held is not None  # noqa: S101 - else it is not usable
        nonce = Nonce(ids.fresh())
        changed = now.model_copy(update={"statements": checked, "nonce": nonce})
        try:
            with guard(POLICIES.at(name), encode(changed)):
                return access.replace(kv, POLICIES.at(name), held, changed).value
        except PredicateFailed:
            continue
    raise contended(f"policy {name!r}")


def _create(kv: Store, kind: EntityKind[E], record: E) -> E:
    where = kind.at(record.id)

    def mine(now: E) -> bool:
        return now.uid == record.uid

    for _ in range(ATTEMPTS):
        try:
            return access.create(kv, where, record, mine=mine, once=True).value
        except PredicateFailed:
            held = access.read(kv, where)
        if held is None:
            continue
        if held.value.active:
            raise NotUnique(f"{kind.word} {record.id!r} already exists", kind=kind.taken, name=record.id)
        complete(kv, kind, held)
    raise contended(f"{kind.word} {record.id!r}")
