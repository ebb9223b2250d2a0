"""Memberships and attachments: one key that relates two entities. Source: seed 003.

    add      read both sides, active → write the key with both uids ✓ → read both sides again
    remove   read both sides, active → remove the key, as it was read ✓

A relation is valid while both sides are active with the uids in the key. Readers of policies verify that (`effective`),
so a leftover key grants nothing.

A concurrent deletion of a side is handled as follows. If the second reading still finds both sides, the deletion starts
later and removes the key. Otherwise the key is removed again, as it was written, and the addition starts over and
reports the missing side. A crash in between leaves a key that grants nothing: see `deletion`. Adding an existing
relation succeeds, so an addition can be repeated after an unknown outcome. If two processes add the same relation, one
writes the key and the other finds it; both verify the sides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

from graveler_core.codec.records import encode
from graveler_core.errors import Kind, NotFound, PredicateFailed
from graveler_core.iam.change_guard import ChangeGuard, is_same, unguarded
from graveler_core.iam.entities import (
    ATTEMPTS,
    GROUPS,
    POLICIES,
    USERS,
    EntityKind,
    contended,
    get,
    is_present,
    present,
    usable,
)
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource
from graveler_core.model.iam import Attachment, Entity, Group, Membership, Policy, User
from graveler_core.model.ids import EntityUid, GroupId, Nonce, PolicyId, UserId
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder, Location

E = TypeVar("E", bound=Entity)
R = TypeVar("R", Membership, Attachment)
_PAGE = 100
"""Number of relations whose second sides are read at once."""


@dataclass(frozen=True, slots=True)
class EntityRelation(Generic[R]):
    """Two entities that may be related."""

    sides: tuple[tuple[EntityKind[Any], str], tuple[EntityKind[Any], str]]
    where: Location[R]
    missing: Kind

    def __str__(self) -> str:
        (first, name), (second, other) = self.sides
        return f"{first.word} {name!r} and {second.word} {other!r}"


def membership(user: UserId, group: GroupId) -> EntityRelation[Membership]:
    """Return the relation of a user to a group."""
    return EntityRelation(((USERS, user), (GROUPS, group)), keys.membership(user, group), Kind.MembershipNotFound)


def user_attachment(user: UserId, policy: PolicyId) -> EntityRelation[Attachment]:
    """Return the relation of a user to a policy."""
    return EntityRelation(((USERS, user), (POLICIES, policy)), keys.user_policy(user, policy), Kind.AttachmentNotFound)


def group_attachment(group: GroupId, policy: PolicyId) -> EntityRelation[Attachment]:
    """Return the relation of a group to a policy."""
    return EntityRelation(
        ((GROUPS, group), (POLICIES, policy)), keys.group_policy(group, policy), Kind.AttachmentNotFound
    )


def add(  # noqa: PLR0913 - the parts of a store, a relation, and its guard
    kv: Store,
    clock: Clock,
    ids: IdSource,
    relation: EntityRelation[R],
    guard: ChangeGuard = unguarded,
    *,
    user: UserId | None = None,
) -> None:
    """Add a relation. Adding an existing one does nothing.

    Args:
        kv: Key-value store.
        clock: Source of the creation date.
        ids: Source of the nonce.
        relation: The relation.
        guard: Guard of the addition, by which a policy that denies may begin to apply.
        user: The only user whose permissions depend on the relation.

    Raises:
        NotFound: A side does not exist.
    """
    for _ in range(ATTEMPTS):
        uids = _uids(kv, relation)
        try:
            held = _written(kv, relation, uids, _record(relation, uids, clock, ids), guard, user)
        except PredicateFailed:
            continue
        if _still(kv, relation, uids):
            return
        access.remove(kv, relation.where, held)
    raise contended(str(relation))


def remove(
    kv: Store, relation: EntityRelation[R], guard: ChangeGuard = unguarded, *, user: UserId | None = None
) -> None:
    """Remove a relation.

    Args:
        kv: Key-value store.
        relation: The relation.
        guard: Guard of the removal.
        user: The only user whose permissions depend on the relation.

    Raises:
        NotFound: A side does not exist, or the sides are not related.
    """
    for _ in range(ATTEMPTS):
        uids = _uids(kv, relation)
        held = access.read(kv, relation.where)
        if held is None or held.value.uids != uids:
            raise NotFound(f"{relation} are not related", kind=relation.missing)
        with guard(relation.where, None, user):
            removed = access.remove(kv, relation.where, held, lives_on=partial(is_same, before=held.value))
        if removed:
            return
    raise contended(str(relation))


def void(where: Location[R], clock: Clock, ids: IdSource) -> R:
    """Return a record for a relation that grants nothing, because no entity has its uids."""
    first, second = where.key.decode().split("/")[-2:]
    return where.model.model_validate(
        dict(zip(_FIELDS[where.model], (first, "", second, ""), strict=True))
        | {"creation_date": clock.now(), "nonce": Nonce(ids.fresh())}
    )


def groups_of(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[Group]:
    """Yield the groups of a user, in the order of their names.

    Raises:
        NotFound: The user does not exist. Raised with the first item.
    """
    return _seconds(kv, keys.MEMBERSHIPS, (USERS, user), GROUPS, (prefix, after))


def policies_of_user(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[Policy]:
    """Yield the policies attached to a user directly, in the order of their names.

    Raises:
        NotFound: The user does not exist. Raised with the first item.
    """
    return _seconds(kv, keys.USER_POLICIES, (USERS, user), POLICIES, (prefix, after))


def policies_of_group(kv: Store, group: GroupId, *, prefix: str = "", after: str = "") -> Iterator[Policy]:
    """Yield the policies attached to a group, in the order of their names.

    Raises:
        NotFound: The group does not exist. Raised with the first item.
    """
    return _seconds(kv, keys.GROUP_POLICIES, (GROUPS, group), POLICIES, (prefix, after))


def members_of(kv: Store, group: GroupId, *, prefix: str = "", after: str = "") -> Iterator[User]:
    """Yield the members of a group, in the order of their names. Scans all memberships and keeps those of the group in
    memory.
    """
    uid = get(kv, GROUPS, group).uid
    found: dict[str, EntityUid] = {}
    for _, held in access.scan(kv, keys.MEMBERSHIPS, prefix=prefix):
        if held.value.group == group and held.value.group_uid == uid and held.value.user > after:
            found[held.value.user] = held.value.user_uid
    # The keys are ordered by name and a following slash, which is not the order of the names.
    yield from _present(kv, USERS, sorted(found.items()))


def _seconds(
    kv: Store, folder: Folder[R], of: tuple[EntityKind[Any], str], kind: EntityKind[E], names: tuple[str, str]
) -> Iterator[E]:
    """Yield the second sides of an entity's valid relations."""
    first: Entity = get(kv, *of)
    prefix, after = names
    base = keys.of(first.id)
    rows = access.scan(kv, folder, prefix=base + prefix, after=base + after if after else "")
    tied = ((key.removeprefix(base), held.value.uids) for key, held in rows)
    yield from _present(kv, kind, ((name, uids[1]) for name, uids in tied if uids[0] == first.uid))


def _present(kv: Store, kind: EntityKind[E], named: Iterable[tuple[str, EntityUid]]) -> Iterator[E]:
    rest = iter(named)
    while page := list(islice(rest, _PAGE)):
        yield from present(kv, kind, page)


def _uids(kv: Store, relation: EntityRelation[R]) -> tuple[EntityUid, EntityUid]:
    """Return the uids of both sides.

    Raises:
        NotFound: A side does not exist.
    """
    first, second = (usable(kind, name, held).uid for (kind, name), held in _sides(kv, relation))
    return first, second


def _still(kv: Store, relation: EntityRelation[R], uids: tuple[EntityUid, EntityUid]) -> bool:
    return all(is_present(held, uid) for (_, held), uid in zip(_sides(kv, relation), uids, strict=True))


def _sides(kv: Store, relation: EntityRelation[R]) -> Iterator[tuple[tuple[EntityKind[Any], str], Held[Any] | None]]:
    found = access.read_many(kv, [kind.at(name) for kind, name in relation.sides])
    return zip(relation.sides, found, strict=True)


def _written(  # noqa: PLR0913, PLR0917 - what is written, and under which guard
    kv: Store,
    relation: EntityRelation[R],
    uids: tuple[EntityUid, EntityUid],
    record: R,
    guard: ChangeGuard,
    user: UserId | None,
) -> Held[R]:
    """Write the relation unless it exists, and return its record.

    Raises:
        PredicateFailed: A concurrent process has changed the key.
    """
    held = access.read(kv, relation.where)
    if held is not None and held.value.uids == uids:
        return held
    with guard(relation.where, encode(record), user):
        if held is None:
            # Send the request once: a delayed second request could undo a removal.
            return access.create(kv, relation.where, record, once=True)
        return access.replace(kv, relation.where, held, record)


def _record(relation: EntityRelation[R], uids: tuple[EntityUid, EntityUid], clock: Clock, ids: IdSource) -> R:
    (_, first), (_, second) = relation.sides
    return relation.where.model.model_validate(
        dict(zip(_FIELDS[relation.where.model], (first, uids[0], second, uids[1]), strict=True))
        | {"creation_date": clock.now(), "nonce": Nonce(ids.fresh())}
    )


_FIELDS: dict[type[Any], tuple[str, str, str, str]] = {
    Membership: ("user", "user_uid", "group", "group_uid"),
    Attachment: ("holder", "holder_uid", "policy", "policy_uid"),
}
