"""Creating users, groups and policies, and changing policies.

✓ One swap: the record, under a name at which none stands. A crash before it leaves nothing, after it nothing to do.
It is sent once: a request that came late could bring back what was deleted meanwhile. Where a deletion of the name
has begun, this goes on with it and creates afterwards; the new uid keeps apart what is still under way for the old
one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from graveler_core.errors import NotUnique, PredicateFailed
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
    """Create a user. Raises `NotUnique` (`UserExists`)."""
    return _create(kv, USERS, User(id=name, uid=EntityUid(ids.fresh()), creation_date=clock.now()))


def create_group(kv: Store, clock: Clock, ids: IdSource, name: GroupId) -> Group:
    """Create a group. Raises `NotUnique` (`GroupExists`)."""
    return _create(kv, GROUPS, Group(id=name, uid=EntityUid(ids.fresh()), creation_date=clock.now()))


def create_policy(kv: Store, clock: Clock, ids: IdSource, name: PolicyId, statements: Sequence[object]) -> Policy:
    """Create a policy.

    Args:
        statements: As in a policy's document, or `Statement`s.

    Raises:
        InvalidInput: a statement breaks a rule of `model.policy_document`.
        NotUnique: (`PolicyExists`) one bears the name.
    """
    policy = Policy(
        id=name,
        uid=EntityUid(ids.fresh()),
        creation_date=clock.now(),
        statements=parse_statements(name, statements),
        nonce=Nonce(ids.fresh()),
    )
    return _create(kv, POLICIES, policy)


def update_policy(kv: Store, ids: IdSource, name: PolicyId, statements: Sequence[object]) -> Policy:
    """Put other statements in the place of a policy's, in one swap ✓. Who has the policy keeps it.

    Raises:
        InvalidInput: a statement breaks a rule of `model.policy_document`.
        NotFound: there is no such policy.
    """
    checked = parse_statements(name, statements)
    for _ in range(ATTEMPTS):
        held = access.read(kv, POLICIES.at(name))
        now = usable(POLICIES, name, held)
        assert held is not None  # noqa: S101 - else it is not usable
        nonce = Nonce(ids.fresh())
        changed = now.model_copy(update={"statements": checked, "nonce": nonce})
        try:
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
            raise NotUnique(f"{kind.word} {record.id!r} exists already", kind=kind.taken, name=record.id)
        complete(kv, kind, held)
    raise contended(f"{kind.word} {record.id!r}")
