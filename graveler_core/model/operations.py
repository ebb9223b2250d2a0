"""Operations of a transaction, and the conflicts they can meet. Source: seed 002, stricter validations.

An operation states what its author expects to find, so that two authors cannot overwrite each other unknowingly.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from graveler_core.errors import InvalidInput
from graveler_core.model.changes import Change
from graveler_core.model.entry import Entry
from graveler_core.model.ids import CommitId


@dataclass(frozen=True, slots=True)
class Put:
    """Write an entry at a path.

    Without `expected`, the path must have no entry, or a `Remove` of the same transaction must remove it (a re-add).
    The new entry gets a content id; only a re-add may choose it. With `expected`, the path must have exactly that
    entry, and payload and content id stay the same. For a rename, the path has no entry, and a `Remove` of the same
    transaction removes the expected entry with that content id from another path.
    """

    path: str
    entry: Entry
    expected: Entry | None = None
    exact: bool = False
    """True to store the entry with exactly its own content id, or without one if it has none. Use this for entries that
    exist in another commit, as `operations_of` does."""


@dataclass(frozen=True, slots=True)
class Remove:
    """Remove the entry of a path. The path must have an entry: exactly `expected`, if it is given."""

    path: str
    expected: Entry | None = None


@dataclass(frozen=True, slots=True)
class Unchanged:
    """Change nothing, but require that a path has an entry: exactly `expected`, if it is given."""

    path: str
    expected: Entry | None = None


Operation = Put | Remove | Unchanged


def operations_of(changes: Iterable[Change]) -> Iterator[Operation]:
    """Return the operations that make the same changes in a transaction.

    Each operation expects the entry that its path had before the change. A transaction with the operations of a diff
    from `left` to `right`, on a branch with the content of `left`, therefore gives a tree that has no difference from
    `right`. On a branch whose content differs at one of the paths, it is refused. Source: seed 002; Nessie's
    `diffToCreateCommit`.

    Args:
        changes: Changes, as `Repository.diff`, `Branch.uncommitted` or `LogEntry.changes` list them.

    Yields:
        For each change `Put` or `Remove`; both if the content id or payload of the path changed; `Unchanged` if both
        sides are equal.

    Raises:
        InvalidInput: `changes` is not an iterable of `Change`.
        GravelerError: The error of the listing of changes, when it is read.
    """
    if not isinstance(changes, Iterable):
        raise InvalidInput(f"operations of {changes!r}: must be changes", argument="changes")
    for change in changes:
        if not isinstance(change, Change):
            raise InvalidInput(f"operations of {change!r}: must be a change", argument="changes")
        before, after = change.before, change.after
        if after is None:
            yield Remove(change.path, before)
        elif before is None:
            yield Put(change.path, after, exact=True)
        elif before.identity and before.identity == after.identity:
            yield Unchanged(change.path, before)
        elif (before.content_id, before.payload) == (after.content_id, after.payload):
            yield Put(change.path, after, before, exact=True)
        else:
            yield Remove(change.path, before)
            yield Put(change.path, after, exact=True)


@dataclass(frozen=True, slots=True)
class Basis:
    """Commit on which a transaction is based, and the prefixes on which the transaction depends.

    An operation covers only its own path. A transaction that replaces everything under a prefix also depends on the
    paths that do *not* exist there.
    """

    commit: CommitId
    under: tuple[str, ...] = ()
    """Prefixes under which the content must be unchanged and nothing may be staged. Without prefixes, the head of the
    branch must be this commit; staged changes do not matter.
    """

    def __post_init__(self) -> None:
        if isinstance(self.under, str):
            raise InvalidInput(f"Basis.under: must be a tuple of prefixes, not {self.under!r}")
        object.__setattr__(self, "under", tuple(self.under))  # an iterator could be read only once


class ConflictKind(StrEnum):
    """Reason why an operation cannot be done. If several apply, the first one in this order is reported."""

    KEY_EXISTS = "key_exists"
    KEY_DOES_NOT_EXIST = "key_does_not_exist"
    PAYLOAD_DIFFERS = "payload_differs"
    CONTENT_ID_DIFFERS = "content_id_differs"
    VALUE_DIFFERS = "value_differs"


@dataclass(frozen=True, slots=True)
class OperationConflict:
    """Operation that cannot be done, and the entry that exists at its path."""

    path: str
    kind: ConflictKind
    operation: Operation
    existing: Entry | None


class Resolution(StrEnum):
    """Treatment of a conflicting operation."""

    CONFLICT = "conflict"
    """Fail, and report all conflicts."""
    APPLY = "apply"
    """Do the operation anyway."""
    DROP = "drop"
    """Leave the operation out."""
