"""Memberships and attachments: an auxiliary key that ties two entities together. Source: seed 003.

    add      read both sides, active → write the key with both uids ✓ → read both sides again
    remove   read both sides, active → remove the key, as it was read ✓

A relation counts while both sides are active under the uids that it bears; who reads policies proves that
(`effective`). So nothing here has to be exact for safety, only for order: what is not pruned grants nothing.

Adding against a deletion of a side: if the second reading still finds both sides, the deletion begins later and
prunes the key. Else the key is taken back, as it was written, and the addition begins anew, which says what is not
there. A crash between leaves a key that grants nothing: see `deletion`. Adding what is there succeeds, so it may be
repeated after an unknown outcome. Of two additions at once one writes; the other finds its key, and proves the sides
all the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Generic, TypeVar

from graveler_core.errors import Kind, NotFound, PredicateFailed
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
"""Relations whose other sides are read at once."""


@dataclass(frozen=True, slots=True)
class Relation(Generic[R]):
    """Two entities that are, or are not, tied together."""

    sides: tuple[tuple[EntityKind[Any], str], tuple[EntityKind[Any], str]]
    where: Location[R]
    missing: Kind

    def __str__(self) -> str:
        (first, name), (second, other) = self.sides
        return f"{first.word} {name!r} and {second.word} {other!r}"


def membership(user: UserId, group: GroupId) -> Relation[Membership]:
    """A user in a group."""
    return Relation(((USERS, user), (GROUPS, group)), keys.membership(user, group), Kind.MembershipNotFound)


def user_attachment(user: UserId, policy: PolicyId) -> Relation[Attachment]:
    """A policy that holds for a user."""
    return Relation(((USERS, user), (POLICIES, policy)), keys.user_policy(user, policy), Kind.AttachmentNotFound)


def group_attachment(group: GroupId, policy: PolicyId) -> Relation[Attachment]:
    """A policy that holds for the members of a group."""
    return Relation(((GROUPS, group), (POLICIES, policy)), keys.group_policy(group, policy), Kind.AttachmentNotFound)


def add(kv: Store, clock: Clock, ids: IdSource, relation: Relation[R]) -> None:
    """Tie both sides together; if they are, nothing is done. Raises `NotFound` for a side that is not there."""
    for _ in range(ATTEMPTS):
        uids = _uids(kv, relation)
        try:
            held = _written(kv, clock, ids, relation, uids)
        except PredicateFailed:
            continue
        if _still(kv, relation, uids):
            return
        access.remove(kv, relation.where, held)
    raise contended(str(relation))


def remove(kv: Store, relation: Relation[R]) -> None:
    """Untie both sides. Raises `NotFound` for a side that is not there, or where they are not tied together."""
    for _ in range(ATTEMPTS):
        uids = _uids(kv, relation)
        held = access.read(kv, relation.where)
        if held is None or held.value.uids != uids:
            raise NotFound(f"{relation} are not tied together", kind=relation.missing)
        if access.remove(kv, relation.where, held):
            return
    raise contended(str(relation))


def groups_of(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[Group]:
    """The groups of a user in order of their names, lazily. Raises `NotFound` at the first."""
    return _seconds(kv, keys.MEMBERSHIPS, (USERS, user), GROUPS, (prefix, after))


def policies_of_user(kv: Store, user: UserId, *, prefix: str = "", after: str = "") -> Iterator[Policy]:
    """The policies attached to a user itself, in order of their names, lazily. Raises `NotFound` at the first."""
    return _seconds(kv, keys.USER_POLICIES, (USERS, user), POLICIES, (prefix, after))


def policies_of_group(kv: Store, group: GroupId, *, prefix: str = "", after: str = "") -> Iterator[Policy]:
    """The policies attached to a group, in order of their names, lazily. Raises `NotFound` at the first."""
    return _seconds(kv, keys.GROUP_POLICIES, (GROUPS, group), POLICIES, (prefix, after))


def members_of(kv: Store, group: GroupId, *, prefix: str = "", after: str = "") -> Iterator[User]:
    """The members of a group in order of their names. One scan of all memberships; in memory are the group's."""
    uid = get(kv, GROUPS, group).uid
    found: dict[str, EntityUid] = {}
    for _, held in access.scan(kv, keys.MEMBERSHIPS, prefix=prefix):
        if held.value.group == group and held.value.group_uid == uid and held.value.user > after:
            found[held.value.user] = held.value.user_uid
    # The order of keys is that of the names with the slash behind them.
    yield from _present(kv, USERS, sorted(found.items()))


def _seconds(
    kv: Store, folder: Folder[R], of: tuple[EntityKind[Any], str], kind: EntityKind[E], names: tuple[str, str]
) -> Iterator[E]:
    """The second sides of an entity's relations that count."""
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


def _uids(kv: Store, relation: Relation[R]) -> tuple[EntityUid, EntityUid]:
    """Of both sides, or the error that says which is not there."""
    first, second = (usable(kind, name, held).uid for (kind, name), held in _sides(kv, relation))
    return first, second


def _still(kv: Store, relation: Relation[R], uids: tuple[EntityUid, EntityUid]) -> bool:
    return all(is_present(held, uid) for (_, held), uid in zip(_sides(kv, relation), uids, strict=True))


def _sides(kv: Store, relation: Relation[R]) -> Iterator[tuple[tuple[EntityKind[Any], str], Held[Any] | None]]:
    found = access.read_many(kv, [kind.at(name) for kind, name in relation.sides])
    return zip(relation.sides, found, strict=True)


def _written(
    kv: Store, clock: Clock, ids: IdSource, relation: Relation[R], uids: tuple[EntityUid, EntityUid]
) -> Held[R]:
    """The relation as it then stands. Raises `PredicateFailed` where somebody else wrote meanwhile."""
    held = access.read(kv, relation.where)
    if held is not None and held.value.uids == uids:
        return held
    record = _record(relation, uids, clock, ids)
    if held is None:
        # Once: a second sending could come late, and undo a removal.
        return access.create(kv, relation.where, record, once=True)
    return access.replace(kv, relation.where, held, record)


def _record(relation: Relation[R], uids: tuple[EntityUid, EntityUid], clock: Clock, ids: IdSource) -> R:
    (_, first), (_, second) = relation.sides
    return relation.where.model.model_validate(
        dict(zip(_FIELDS[relation.where.model], (first, uids[0], second, uids[1]), strict=True))
        | {"creation_date": clock.now(), "nonce": Nonce(ids.fresh())}
    )


_FIELDS: dict[type[Any], tuple[str, str, str, str]] = {
    Membership: ("user", "user_uid", "group", "group_uid"),
    Attachment: ("holder", "holder_uid", "policy", "policy_uid"),
}
