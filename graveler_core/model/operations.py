"""What `transact` is asked to do, and what may stand in its way. Source: seed 002, stricter validations.

An operation says what its author believed to be there, so that two authors who never met cannot overwrite each other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graveler_core.errors import InvalidInput
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId


@dataclass(frozen=True, slots=True)
class Put:
    """Give a path an entry.

    Without `expected` the path must be free, or freed by a `Remove` of the same transaction (a re-add). The entry gets
    a content id of its own; only a re-add may name one. With `expected` the path must hold exactly that entry, and
    payload and content id stay what they are; or, for a rename, the path is free and a `Remove` of the same
    transaction takes away what held that entry under that content id.
    """

    path: str
    entry: Entry
    expected: Entry | None = None


@dataclass(frozen=True, slots=True)
class Remove:
    """Take a path's entry away. The path must hold one: exactly `expected`, where it is given."""

    path: str
    expected: Entry | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Change nothing, but insist that a path holds an entry: exactly `expected`, where it is given."""

    path: str
    expected: Entry | None = None


Operation = Put | Remove | Unchanged


@dataclass(frozen=True, slots=True)
class Basis:
    """The commit that the author of a transaction looked at, and which part of it the operations depend on.

    An operation speaks of its own path alone. Whoever replaces all that lies under a prefix depends on the paths that
    are *not* there, too.
    """

    commit: CommitId
    under: tuple[str, ...] = ()
    """Only what lies under these prefixes must be as it was, and nothing may be staged there; without any the head must
    be this very commit, whatever is staged."""

    def __post_init__(self) -> None:
        if isinstance(self.under, str):
            raise InvalidInput(f"Basis.under: a tuple of prefixes, not {self.under!r}")
        object.__setattr__(self, "under", tuple(self.under))  # lest it can be read only once


class ConflictKind(StrEnum):
    """Why an operation cannot be done. Where several hold, the first in this order is reported."""

    KEY_EXISTS = "key_exists"
    KEY_DOES_NOT_EXIST = "key_does_not_exist"
    PAYLOAD_DIFFERS = "payload_differs"
    CONTENT_ID_DIFFERS = "content_id_differs"
    VALUE_DIFFERS = "value_differs"


@dataclass(frozen=True, slots=True)
class OperationConflict:
    """An operation that cannot be done: what it expected, and what is there."""

    path: str
    kind: ConflictKind
    operation: Operation
    existing: Entry | None


class Resolution(StrEnum):
    """What to do about a conflict."""

    CONFLICT = "conflict"
    """Fail, with all conflicts."""
    APPLY = "apply"
    """Do the operation all the same."""
    DROP = "drop"
    """Leave the operation out."""
