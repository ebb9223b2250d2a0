"""Deleting a user, a group or a policy. Source: seed 003: "secondary indices need to be pruned first".

    1. the record becomes `deleting` ✓       from here on it grants nothing, and no relation with it can be added
    2. every key is removed that names it     memberships, attachments, credentials
    3. the record is removed, as it was read ✓   its name is free

A crash after 1 or within 2 leaves a name that is taken and grants nothing; the next deletion, or creation, of the
name goes on from there, and several may at once. Nothing is lost by a crash after 3.

Who adds a relation meanwhile reads the records of both sides before and after it writes (`relations`). Either it
ended before 1, then 2 finds its key, as a scan yields what stood when it began; or it finds out, and takes its key
back. If it dies before, or its request arrives late, the key stays: it bears a uid that never comes back, so it
grants nothing, is not shown, and is overwritten by the next relation of these names or removed by the next deletion
of one of them.

Who prunes late, when the name is in use anew, removes keys of its own uid alone, and each only as it was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, TypeVar

from graveler_core.errors import PredicateFailed
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
"""A key that names an entity: with this uid, here, as read."""
_TOGETHER = 100
"""Keys that are removed in one step, where the store can."""


def delete_user(kv: Store, user: UserId) -> None:
    """Delete a user with its credentials, memberships and attachments. Raises `NotFound`."""
    _delete(kv, USERS, user)


def delete_group(kv: Store, group: GroupId) -> None:
    """Delete a group. Its members stay. Raises `NotFound`."""
    _delete(kv, GROUPS, group)


def delete_policy(kv: Store, policy: PolicyId) -> None:
    """Delete a policy, whoever has it. Raises `NotFound`."""
    _delete(kv, POLICIES, policy)


def complete(kv: Store, kind: EntityKind[E], held: Held[E]) -> None:
    """Prune what names an entity whose deletion has begun, and remove its record: steps 2 and 3."""
    where = kind.at(held.value.id)
    named = list(_naming(kv, kind, held.value.id))
    # While the record stands, no other uid is the name's present one, nor was it when the keys were read.
    standing = access.read(kv, where) == held
    doomed = ((at, key) for uid, at, key in named if standing or uid == held.value.uid)
    while some := list(islice(doomed, _TOGETHER)):
        access.remove_many(kv, some)
    access.remove(kv, where, held, lives_on=lambda current: current.uid == held.value.uid)


def _delete(kv: Store, kind: EntityKind[E], name: str) -> None:
    for _ in range(ATTEMPTS):
        held = access.read(kv, kind.at(name))
        if held is None:
            raise not_found(kind, name)
        if held.value.active:
            try:
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
    """All keys that name an entity, but its own record."""
    for folder, side in _SIDES[kind.word]:
        for key, held in access.scan(kv, folder, prefix="" if side else keys.of(name)):
            if not side or key.partition("/")[2] == name:
                yield held.value.uids[side], folder.at(key), held
    if kind.word == USERS.word:
        # All of them: of a creation that crashed, the key that would lead there may be gone.
        for key, credential in access.scan(kv, keys.CREDENTIALS):
            if credential.value.user == name:
                yield credential.value.user_uid, keys.CREDENTIALS.at(key), credential


_SIDES: Final[dict[str, list[tuple[Folder[Any], int]]]] = {
    USERS.word: [(keys.MEMBERSHIPS, 0), (keys.USER_POLICIES, 0), (keys.USER_CREDENTIALS, 0)],
    GROUPS.word: [(keys.GROUP_POLICIES, 0), (keys.MEMBERSHIPS, 1)],
    POLICIES.word: [(keys.USER_POLICIES, 1), (keys.GROUP_POLICIES, 1)],
}
"""Where an entity is named, and as which side."""
