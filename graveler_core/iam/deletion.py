"""Deletion of users, groups and policies. Source: seed 003: "secondary indices need to be pruned first".

    1. set the record to `deleting` ✓         from here on it grants nothing, and no new relation can refer to it
    2. remove every key that refers to it     memberships, attachments, credentials
    3. remove the record, as it was read ✓    the name is free

After a crash between 1 and 3, the name is taken and grants nothing. The next deletion or creation with the same name
continues from there. Several processes may do so at once.

A process that adds a relation at the same time reads the records of both sides before and after it writes (see
`relations`). If it ends before step 1, step 2 finds its key, because a scan returns everything that existed when it
began. Otherwise it notices the deletion and removes its key again. If it dies first, or its request arrives late, the
key stays. It contains a uid that is never used again, so it grants nothing and is not listed. The next relation with
the same names overwrites it, or the next deletion of one of the names removes it.

A process that removes keys late, when the name is in use again, removes only keys with its own uid, exactly as they
were read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import Any, Final, TypeVar

from graveler_core.errors import PredicateFailed
from graveler_core.iam.change_guard import ChangeGuard, unguarded
from graveler_core.iam.entities import ATTEMPTS, GROUPS, POLICIES, USERS, EntityKind, contended, not_found
from graveler_core.kv.store import Store
from graveler_core.model.iam import Entity, EntityState
from graveler_core.model.ids import EntityUid, GroupId, PolicyId, UserId
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder, Location

E = TypeVar("E", bound=Entity)
Named = tuple[EntityUid, Location[Any], Held[Any]]
"""Key that refers to an entity: the uid in it, its location, and the record as read."""
_TOGETHER = 100
"""Number of keys that are removed in one step, if the store supports it."""


def delete_user(kv: Store, user: UserId, guard: ChangeGuard = unguarded) -> None:
    """Delete a user with all credentials, memberships and attachments.

    Raises:
        NotFound: The user does not exist.
    """
    _delete(kv, USERS, user, partial(guard, USERS.at(user), None, user))


def delete_group(kv: Store, group: GroupId, guard: ChangeGuard = unguarded) -> None:
    """Delete a group. Its members stay.

    Raises:
        NotFound: The group does not exist.
    """
    _delete(kv, GROUPS, group, partial(guard, GROUPS.at(group), None, None))


def delete_policy(kv: Store, policy: PolicyId, guard: ChangeGuard = unguarded) -> None:
    """Delete a policy and its attachments.

    Raises:
        NotFound: The policy does not exist.
    """
    _delete(kv, POLICIES, policy, partial(guard, POLICIES.at(policy), None, None))


def complete(kv: Store, kind: EntityKind[E], held: Held[E]) -> None:
    """Complete a deletion that has started: remove the keys that refer to the entity, then its record (steps 2 and
    3).
    """
    where = kind.at(held.value.id)
    named = list(_naming(kv, kind, held.value.id))
    # While the record is unchanged, no other uid is in use under this name, nor was one when the keys were read.
    standing = access.read(kv, where) == held
    doomed = ((at, key) for uid, at, key in named if standing or uid == held.value.uid)
    while some := list(islice(doomed, _TOGETHER)):
        access.remove_many(kv, some)
    access.remove(kv, where, held, lives_on=lambda current: current.uid == held.value.uid)


def _delete(kv: Store, kind: EntityKind[E], name: str, guarded: Callable[[], AbstractContextManager[object]]) -> None:
    for _ in range(ATTEMPTS):
        held = access.read(kv, kind.at(name))
        if held is None:
            raise not_found(kind, name)
        if held.value.active:
            try:
                with guarded():
                    held = _begun(kv, kind, held)
            except PredicateFailed:
                continue
        complete(kv, kind, held)
        return
    raise contended(f"{kind.word} {name!r}")


def _begun(kv: Store, kind: EntityKind[E], held: Held[E]) -> Held[E]:
    uid = held.value.uid
    marked = held.value.model_copy(update={"state": EntityState.DELETING})

    def mine(now: E) -> bool:
        return now.uid == uid and not now.active

    return access.replace(kv, kind.at(held.value.id), held, marked, mine=mine)


def _naming(kv: Store, kind: EntityKind[E], name: str) -> Iterator[Named]:
    """Yield all keys that refer to an entity, except its own record."""
    for folder, side in _SIDES[kind.word]:
        for key, held in access.scan(kv, folder, prefix="" if side else keys.of(name)):
            if not side or key.partition("/")[2] == name:
                yield held.value.uids[side], folder.at(key), held
    if kind.word == USERS.word:
        # Scan all credentials: after a creation that crashed, the listing key may be missing.
        for key, credential in access.scan(kv, keys.CREDENTIALS):
            if credential.value.user == name:
                yield credential.value.user_uid, keys.CREDENTIALS.at(key), credential
        for key, sealed in access.scan(kv, keys.SEALED_SECRETS):
            if sealed.value.user == name:
                yield sealed.value.user_uid, keys.SEALED_SECRETS.at(key), sealed


_SIDES: Final[dict[str, list[tuple[Folder[Any], int]]]] = {
    USERS.word: [(keys.MEMBERSHIPS, 0), (keys.USER_POLICIES, 0), (keys.USER_CREDENTIALS, 0)],
    GROUPS.word: [(keys.GROUP_POLICIES, 0), (keys.MEMBERSHIPS, 1)],
    POLICIES.word: [(keys.USER_POLICIES, 1), (keys.GROUP_POLICIES, 1)],
}
"""Folders of keys that refer to an entity, and the index of the entity in the uids of their records."""
