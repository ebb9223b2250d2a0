"""Validation of the operations of a transaction against the current entries. It is pure and finds all conflicts at
once. Source: seed 002.

Only metadata is compared (identity, payload, content id). No content is read.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from graveler_core.codec.entry import changed_entry, normalise_entry
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.entry import Entry
from graveler_core.model.names import new_path_key, path_key
from graveler_core.model.operations import (
    ConflictKind,
    Operation,
    OperationConflict,
    Put,
    Remove,
    Resolution,
    Unchanged,
)

Arbiter = Callable[[OperationConflict], Resolution]
"""Function that decides about one conflict. It is called again if the transaction has to repeat the check, because
another flow changed the branch.
"""


def fail(conflict: OperationConflict) -> Resolution:
    """Arbiter that accepts no conflict."""
    return Resolution.CONFLICT


@dataclass(slots=True)
class _Ground:
    """State against which a transaction is checked."""

    existing: Mapping[str, Entry]
    removed: set[str] = field(default_factory=set)
    """Paths that the transaction itself removes. A path without an entry is among them, too."""
    moved: dict[uuid.UUID, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    """Entries that the transaction itself removes, by content id. A rename may put them at another path."""

    def take_away(self, path: str) -> None:
        """Record a removal."""
        self.removed.add(path)
        found = self.existing.get(path)
        if found is not None and found.content_id is not None:
            self.moved[found.content_id].append(found)

    def renamed(self, content_id: uuid.UUID, expected: Entry | None) -> Entry | None:
        """Return the removed entry with a content id. Of several, return the expected one, if it is among them."""
        removed = self.moved.get(content_id, [])
        equal = [entry for entry in removed if expected is not None and entry.identity == expected.identity]
        return next(reversed(equal or removed), None)


def normalised(operations: Sequence[Operation]) -> list[Operation]:
    """Return the operations with checked entries.

    Raises:
        InvalidInput: A value is not an operation, a path occurs twice (except remove and put, which adds it again),
            a content id occurs twice, or an entry is invalid.
    """
    if not isinstance(operations, Iterable):
        raise InvalidInput(f"transaction: {operations!r} is not a list of operations")
    checked = [_normalised(operation) for operation in operations]
    kinds: dict[str, list[type[Operation]]] = defaultdict(list)
    for operation in checked:
        kinds[operation.path].append(type(operation))
    for path, named in kinds.items():
        if len(named) > 1 and (len(named) > 2 or set(named) != {Put, Remove}):
            raise InvalidInput(f"transaction: duplicate key {path!r}", path=path)
    puts = (o for o in checked if isinstance(o, Put) and not o.exact)
    ids = Counter(put.entry.content_id for put in puts if put.entry.content_id is not None)
    for content_id, count in ids.items():
        if count > 1:
            raise InvalidInput(f"transaction: duplicate content id {content_id}", content_id=str(content_id))
    return checked


def validate(
    operations: Sequence[Operation], existing: Mapping[str, Entry], arbiter: Arbiter = fail
) -> list[tuple[bytes, Entry | None]]:
    """Return the changes to write, sorted by key: an entry, or `None` for a removal.

    Args:
        operations: Result of `normalised`.
        existing: Current entries at the paths of the operations. For a put without `expected`, the entry is read only
            if the put conflicts, and the conflict is refused or the arbiter reads `existing`.
        arbiter: Decides about each conflict.

    Raises:
        Conflict: `details["conflicts"]` lists all operations that cannot be done (`TransactionConflict`).
    """
    ground = _Ground(existing)
    refused: list[OperationConflict] = []
    outcome: dict[bytes, Entry | None] = {}
    # Removals are processed first, so that a put of the same path overrides them, and a rename knows which entries are
    # free.
    for operation in sorted(operations, key=lambda o: not isinstance(o, Remove)):
        conflict = _conflict(operation, ground)
        resolution = Resolution.APPLY if conflict is None else _resolved(conflict, arbiter)
        if conflict is not None and resolution is Resolution.CONFLICT:
            refused.append(_as_read(conflict))
        elif resolution is Resolution.APPLY and isinstance(operation, Put | Remove):
            outcome[path_key(operation.path)] = operation.entry if isinstance(operation, Put) else None
        # A dropped removal removes nothing. A refused removal is recorded, so that operations that depend on it are
        # not reported as further conflicts.
        if isinstance(operation, Remove) and resolution is not Resolution.DROP:
            ground.take_away(operation.path)
    if refused:
        listed = sorted(refused, key=lambda conflict: path_key(conflict.path))
        raise Conflict(
            f"transaction: {len(listed)} of {len(operations)} operations conflict, the first at {listed[0].path!r}: "
            f"{listed[0].kind.replace('_', ' ')}",
            kind=Kind.TransactionConflict,
            conflicts=listed,
        )
    return sorted(outcome.items())


def with_content_ids(
    outcome: Sequence[tuple[bytes, Entry | None]], drawn: Mapping[str, uuid.UUID]
) -> list[tuple[bytes, Entry | None]]:
    """Return the outcome of `validate`, in which new entries have the content ids that were generated for their paths,
    and no identity.
    """
    return [
        (key, changed_entry(entry, drawn[entry.path], b""))
        if entry is not None and entry.content_id is None and entry.path in drawn
        else (key, entry)
        for key, entry in outcome
    ]


def _normalised(operation: Operation) -> Operation:
    if not isinstance(operation, Put | Remove | Unchanged):
        raise InvalidInput(f"transaction: {operation!r} is not a Put, Remove or Unchanged")
    (new_path_key if isinstance(operation, Put) else path_key)(operation.path)
    expected = None if operation.expected is None else _checked(operation.path, operation.expected)
    if not isinstance(operation, Put):
        return type(operation)(operation.path, expected)
    return Put(operation.path, _checked(operation.path, operation.entry), expected, operation.exact)


def _checked(path: str, entry: Entry) -> Entry:
    if not isinstance(entry, Entry):
        raise InvalidInput(f"transaction: {entry!r} at {path!r} is not an Entry", path=path)
    return normalise_entry(path, entry)


def _resolved(conflict: OperationConflict, arbiter: Arbiter) -> Resolution:
    answer = arbiter(conflict)
    try:
        return Resolution(answer)
    except ValueError:
        raise InvalidInput(f"transaction: on_conflict returned {answer!r}, which is not a Resolution") from None


class _UnreadConflict(OperationConflict):
    """Conflict whose existing entry is read when it is asked for: most arbiters decide without it."""

    __slots__ = ("_ground",)
    _ground: _Ground

    def __init__(self, operation: Put, ground: _Ground) -> None:
        values = {"path": operation.path, "kind": ConflictKind.KEY_EXISTS, "operation": operation, "_ground": ground}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def existing(self) -> Entry | None:
        return self._ground.existing[self.path]

    def __reduce__(self) -> tuple[type[OperationConflict], tuple[object, ...]]:
        return OperationConflict, (self.path, self.kind, self.operation, self.existing)


def _as_read(conflict: OperationConflict) -> OperationConflict:
    """Return a conflict with its existing entry."""
    return OperationConflict(conflict.path, conflict.kind, conflict.operation, conflict.existing)


def _conflict(operation: Operation, ground: _Ground) -> OperationConflict | None:
    if isinstance(operation, Put) and operation.expected is None:
        return _new(operation, ground)
    found = ground.existing.get(operation.path)
    if isinstance(operation, Put) and operation.expected is not None:
        kind, found = _changed(operation, operation.expected, found, ground)
    elif found is None:
        kind = ConflictKind.KEY_DOES_NOT_EXIST
    else:
        kind = None if operation.expected is None else _first(_differences(operation.expected, found))
    return None if kind is None else OperationConflict(operation.path, kind, operation, found)


def _new(operation: Put, ground: _Ground) -> OperationConflict | None:
    """Return the conflict of a put that expects no entry, if any."""
    content_id = operation.entry.content_id
    if operation.path in ground.removed:
        return None  # a re-add
    if operation.path in ground.existing:
        return _UnreadConflict(operation, ground)
    # A new entry gets its own content id. A given content id refers to an entry that must exist.
    if operation.exact or content_id is None:
        return None
    moved = ground.renamed(content_id, None)
    kind = ConflictKind.KEY_DOES_NOT_EXIST if moved is None else ConflictKind.KEY_EXISTS
    return OperationConflict(operation.path, kind, operation, moved)


def _changed(
    operation: Put, expected: Entry, found: Entry | None, ground: _Ground
) -> tuple[ConflictKind | None, Entry | None]:
    """Return the conflict of a put that expects an entry, if any, and the entry that it was compared with."""
    content_id = operation.entry.content_id
    readded = operation.path in ground.removed and found is not None
    moved = None if readded or content_id is None else ground.renamed(content_id, expected)
    base = moved if found is None or readded else found
    if base is None:
        return ConflictKind.KEY_DOES_NOT_EXIST, found
    return _first(_differences(operation.entry, base, value=False) | _differences(expected, base)), base


def _differences(claimed: Entry, found: Entry, *, value: bool = True) -> set[ConflictKind]:
    """Return the properties in which a claimed entry differs from the existing one."""
    differs = {
        ConflictKind.PAYLOAD_DIFFERS: claimed.payload != found.payload,
        ConflictKind.CONTENT_ID_DIFFERS: claimed.content_id != found.content_id,
        ConflictKind.VALUE_DIFFERS: value and claimed.identity != found.identity,
    }
    return {kind for kind, different in differs.items() if different}


def _first(kinds: set[ConflictKind]) -> ConflictKind | None:
    """Return the conflict to report: the first in order of declaration."""
    return next((kind for kind in ConflictKind if kind in kinds), None)
