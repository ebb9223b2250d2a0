"""Users, groups and policies alike: which of them are there.

An entity's record is the one register that says whether it exists. Everything else names it together with its uid.
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
"""How often a step is tried that somebody else's change came before. Who administers users is rarely alone with it."""


@dataclass(frozen=True, slots=True)
class EntityKind(Generic[E]):
    """Users, groups or policies."""

    word: str
    folder: Folder[E]
    missing: Kind
    taken: Kind

    def at(self, name: str) -> Location[E]:
        """Where the entity of this name is kept."""
        return self.folder.at(name)


USERS: Final[EntityKind[User]] = EntityKind("user", keys.USERS, Kind.UserNotFound, Kind.UserExists)
GROUPS: Final[EntityKind[Group]] = EntityKind("group", keys.GROUPS, Kind.GroupNotFound, Kind.GroupExists)
POLICIES: Final[EntityKind[Policy]] = EntityKind("policy", keys.POLICIES, Kind.PolicyNotFound, Kind.PolicyExists)


def usable(kind: EntityKind[E], name: str, held: Held[E] | None) -> E:
    """The entity if it is active, else the error that says why not."""
    if held is None or not held.value.active:
        raise not_found(kind, name, "does not exist" if held is None else "is being deleted")
    return held.value


def not_found(kind: EntityKind[E], name: str, why: str = "does not exist") -> NotFound:
    """The error for an entity that is not there."""
    return NotFound(f"{kind.word} {name!r} {why}", kind=kind.missing, name=name)


def get(kv: Store, kind: EntityKind[E], name: str) -> E:
    """An active entity, read anew. Raises `NotFound`."""
    return usable(kind, name, access.read(kv, kind.at(name)))


def active(kv: Store, kind: EntityKind[E], *, prefix: str = "", after: str = "") -> Iterator[E]:
    """The active entities in order of their names, lazily."""
    for _, held in access.scan(kv, kind.folder, prefix=prefix, after=after):
        if held.value.active:
            yield held.value


def is_present(entity: Held[E] | None, uid: EntityUid) -> bool:
    """Whether what was read is an entity of this uid that may grant anything."""
    return entity is not None and entity.value.active and entity.value.uid == uid


def present(kv: Store, kind: EntityKind[E], named: Sequence[tuple[str, EntityUid]]) -> list[E]:
    """Those of the named entities that are active under their uids, in the order given."""
    found = access.read_many(kv, [kind.at(name) for name, _ in named]) if named else []
    return [held.value for (_, uid), held in zip(named, found, strict=True) if held and is_present(held, uid)]


def contended(what: str) -> SlowDown:
    """The error for a step that others came before each time; nothing of it is half done."""
    return SlowDown(
        f"{what}: gave way {ATTEMPTS} times, try again later", kind=Kind.RetriesExhausted, attempts=ATTEMPTS
    )
