"""Common operations on users, groups and policies.

The record of an entity is the one register that decides whether the entity exists. All other records refer to the
entity by name and uid.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from graveler_core.errors import Kind, NotFound, SlowDown
from graveler_core.kv.store import Store
from graveler_core.model.iam import Entity, Group, Policy, User
from graveler_core.model.ids import EntityUid
from graveler_core.records import access
from graveler_core.records import iam_layout as keys
from graveler_core.records.access import Held
from graveler_core.records.location import Folder, Location

E = TypeVar("E", bound=Entity)
ATTEMPTS: Final = 16
"""Number of attempts of a step that collides with concurrent changes. Collisions are rare in the administration of
users.
"""


@dataclass(frozen=True, slots=True)
class EntityKind(Generic[E]):
    """Kind of entity: users, groups or policies."""

    word: str
    folder: Folder[E]
    missing: Kind
    taken: Kind

    def at(self, name: str) -> Location[E]:
        """Return the location of the entity with this name."""
        return self.folder.at(name)


USERS: Final[EntityKind[User]] = EntityKind("user", keys.USERS, Kind.UserNotFound, Kind.UserExists)
GROUPS: Final[EntityKind[Group]] = EntityKind("group", keys.GROUPS, Kind.GroupNotFound, Kind.GroupExists)
POLICIES: Final[EntityKind[Policy]] = EntityKind("policy", keys.POLICIES, Kind.PolicyNotFound, Kind.PolicyExists)


def usable(kind: EntityKind[E], name: str, held: Held[E] | None) -> E:
    """Return the entity if it is active.

    Raises:
        NotFound: The entity does not exist, or is being deleted.
    """
    if held is None or not held.value.active:
        raise not_found(kind, name, "does not exist" if held is None else "is being deleted")
    return held.value


def not_found(kind: EntityKind[E], name: str, why: str = "does not exist") -> NotFound:
    """Return the error for a missing entity."""
    return NotFound(f"{kind.word} {name!r} {why}", kind=kind.missing, name=name)


def get(kv: Store, kind: EntityKind[E], name: str) -> E:
    """Read an active entity from the store.

    Raises:
        NotFound: The entity does not exist, or is being deleted.
    """
    return usable(kind, name, access.read(kv, kind.at(name)))


def active(kv: Store, kind: EntityKind[E], *, prefix: str = "", after: str = "") -> Iterator[E]:
    """Yield the active entities in the order of their names."""
    for _, held in access.scan(kv, kind.folder, prefix=prefix, after=after):
        if held.value.active:
            yield held.value


def is_present(entity: Held[E] | None, uid: EntityUid) -> bool:
    """Return true if a record is an active entity with this uid."""
    return entity is not None and entity.value.active and entity.value.uid == uid


def present(kv: Store, kind: EntityKind[E], named: Sequence[tuple[str, EntityUid]]) -> list[E]:
    """Return those of the entities that are active with the given uids, in the given order."""
    found = access.read_many(kv, [kind.at(name) for name, _ in named]) if named else []
    return [held.value for (_, uid), held in zip(named, found, strict=True) if held and is_present(held, uid)]


def contended(what: str) -> SlowDown:
    """Return the error for a step that lost every race. The step has changed nothing."""
    return SlowDown(
        f"{what}: gave way {ATTEMPTS} times, try again later", kind=Kind.RetriesExhausted, attempts=ATTEMPTS
    )
