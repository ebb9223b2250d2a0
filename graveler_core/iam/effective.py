"""Effective policies of a user: those attached to the user and to the user's groups. A relation counts only if all of
its sides are active.

The keys are read one after the other while other processes may change them. A denying policy could be missed while it
is moved from one group to another. Therefore everything is read twice, and again until two consecutive readings are
equal. No record is ever equal to an earlier one, so the readings are equal only if all records existed at the moment
between them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeVar

from graveler_core.iam.change_guard import is_same
from graveler_core.iam.entities import ATTEMPTS, GROUPS, POLICIES, USERS, contended, present
from graveler_core.kv.store import Store
from graveler_core.model.iam import Attachment, Credential, Group, Membership, Policy, User
from graveler_core.model.ids import EntityUid, UserId
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder

R = TypeVar("R", Membership, Attachment)


@dataclass(frozen=True, slots=True)
class Reading:
    """Result of one pass, in the order of the keys."""

    user: User | None
    memberships: tuple[Membership, ...] = ()
    groups: tuple[Group, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    policies: tuple[Policy, ...] = ()


def effective_policies(kv: Store, user: UserId, credential: Credential | None = None) -> tuple[Policy, ...] | None:
    """Return the policies of a user, without duplicates, ordered by name.

    Args:
        kv: Key-value store.
        user: Name of the user.
        credential: Credential with which the user authenticated, if any.

    Returns:
        The policies, or `None` if the user does not exist, or the credential does not exist or belongs to another
        user.

    Raises:
        SlowDown: Concurrent changes prevented a consistent reading (`RetriesExhausted`).
    """
    former: Reading | None = None
    for _ in range(ATTEMPTS):
        now = _reading(kv, user, credential)
        if now == former:
            return None if now.user is None else now.policies
        former = now
    raise contended(f"policies of user {user!r}")


def _reading(kv: Store, user: UserId, credential: Credential | None) -> Reading:
    held: Held[User] | None = access.read(kv, USERS.at(user))
    if held is None or not held.value.active or not _authenticates(kv, credential, held.value.uid):
        return Reading(None)
    uid = held.value.uid
    memberships = [each for each in _all(kv, keys.MEMBERSHIPS, user) if each.user_uid == uid]
    groups = present(kv, GROUPS, [(each.group, each.group_uid) for each in memberships])
    attachments = [each for each in _all(kv, keys.USER_POLICIES, user) if each.holder_uid == uid]
    for group in groups:
        attachments += [each for each in _all(kv, keys.GROUP_POLICIES, group.id) if each.holder_uid == group.uid]
    named = sorted({(each.policy, each.policy_uid) for each in attachments})
    policies = present(kv, POLICIES, named)
    return Reading(held.value, tuple(memberships), tuple(groups), tuple(attachments), tuple(policies))


def _authenticates(kv: Store, credential: Credential | None, uid: EntityUid) -> bool:
    if credential is None:
        return True
    there = access.read(kv, keys.credential(credential.access_key_id))
    return there is not None and is_same(there.value, credential) and credential.user_uid == uid


def _all(kv: Store, folder: Folder[R], first: str) -> Iterator[R]:
    return (held.value for _, held in access.scan(kv, folder, prefix=keys.of(first)))
