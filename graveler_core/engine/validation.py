"""Whether the operations of a transaction fit what is there: pure, all conflicts at once. Source: seed 002.

Only pointers are compared (identity, payload, content id); no content is read.
"""

from __future__ import annotations

import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from graveler_core.codec.entry import normalise_entry
from graveler_core.errors import Conflict, InvalidInput, Kind
from graveler_core.model.entry import Entry
from graveler_core.model.names import path_key
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
"""Decides about one conflict. It is asked again when a lost race makes the transaction look again."""


def fail(conflict: OperationConflict) -> Resolution:
    """The arbiter that lets no conflict pass."""
    return Resolution.CONFLICT


@dataclass(slots=True)
class _Ground:
    """What a transaction stands on."""

    existing: Mapping[str, Entry]
    removed: set[str] = field(default_factory=set)
    """Paths that the transaction itself empties."""
    moved: dict[uuid.UUID, Entry] = field(default_factory=dict)
    """What the transaction itself takes away, by content id: what a rename may bring to another path."""

    def take_away(self, path: str) -> None:
        """Note a removal that is done."""
        found = self.existing.get(path)
        if found is not None:
            self.removed.add(path)
            if found.content_id is not None:
                self.moved[found.content_id] = found


def normalised(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with checked entries.

    Raises:
        InvalidInput: something that is no operation, a path twice (but for remove and put, which re-adds), a content id
            twice, or a bad entry.
    """
    if not isinstance(operations, Iterable):
        raise InvalidInput(f"transaction: {operations!r} is no list of operations")
    checked = [_normalised(operation) for operation in operations]
    kinds: dict[str, list[type[Operation]]] = defaultdict(list)
    for operation in checked:
        kinds[operation.path].append(type(operation))
    for path, named in kinds.items():
        if len(named) > 1 and (len(named) > 2 or set(named) != {Put, Remove}):
            raise InvalidInput(f"transaction: duplicate key {path!r}", path=path)
    ids = Counter(o.entry.content_id for o in checked if isinstance(o, Put) and o.entry.content_id is not None)
    for content_id, count in ids.items():
        if count > 1:
            raise InvalidInput(f"transaction: duplicate content id {content_id}", content_id=str(content_id))
    return checked


def validate(
    operations: Sequence[Operation], existing: Mapping[str, Entry], arbiter: Arbiter = fail
) -> list[tuple[bytes, Entry | None]]:
    """What to write, sorted by key: entries, and None for what goes.

    Args:
        operations: As `normalised` gives them.
        existing: What the paths of the operations hold, where they hold something.
        arbiter: Decides about each conflict.

    Raises:
        Conflict: (`TransactionConflict`) `details["conflicts"]` lists all operations that cannot be done.
    """
    ground = _Ground(existing)
    refused: list[OperationConflict] = []
    outcome: dict[bytes, Entry | None] = {}
    # Removes first: a re-add of the same path then stands over them, and a rename knows what is free to move.
    for operation in sorted(operations, key=lambda o: not isinstance(o, Remove)):
        conflict = _conflict(operation, ground)
        resolution = Resolution.APPLY if conflict is None else _resolved(conflict, arbiter)
        if conflict is not None and resolution is Resolution.CONFLICT:
            refused.append(conflict)
        elif resolution is Resolution.APPLY and isinstance(operation, Put | Remove):
            outcome[path_key(operation.path)] = operation.entry if isinstance(operation, Put) else None
        # One that is left out takes nothing away; one that is refused hides no conflict of its own making.
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
    """The outcome of `validate`, new entries with the content ids that were drawn for their paths, and no identity."""
    return [
        (key, replace(entry, content_id=drawn[entry.path], identity=b""))
        if entry is not None and entry.content_id is None and entry.path in drawn
        else (key, entry)
        for key, entry in outcome
    ]


def _normalised(operation: Operation) -> Operation:
    if not isinstance(operation, Put | Remove | Unchanged):
        raise InvalidInput(f"transaction: {operation!r} is no Put, Remove or Unchanged")
    path_key(operation.path)
    expected = None if operation.expected is None else _checked(operation.path, operation.expected)
    if not isinstance(operation, Put):
        return type(operation)(operation.path, expected)
    return Put(operation.path, _checked(operation.path, operation.entry), expected)


def _checked(path: str, entry: Entry) -> Entry:
    if not isinstance(entry, Entry):
        raise InvalidInput(f"transaction: {entry!r} at {path!r} is no Entry", path=path)
    return normalise_entry(path, entry)


def _resolved(conflict: OperationConflict, arbiter: Arbiter) -> Resolution:
    answer = arbiter(conflict)
    try:
        return Resolution(answer)
    except ValueError:
        raise InvalidInput(f"transaction: on_conflict gave {answer!r}, which is no Resolution") from None


def _conflict(operation: Operation, ground: _Ground) -> OperationConflict | None:
    found = ground.existing.get(operation.path)
    if isinstance(operation, Put):
        kind, found = _put(operation, found, ground)
    elif found is None:
        kind = ConflictKind.KEY_DOES_NOT_EXIST
    else:
        kind = None if operation.expected is None else _first(_differences(operation.expected, found))
    return None if kind is None else OperationConflict(operation.path, kind, operation, found)


def _put(operation: Put, found: Entry | None, ground: _Ground) -> tuple[ConflictKind | None, Entry | None]:
    """What stands in the way of a put, and the entry that it was compared with."""
    content_id, expected = operation.entry.content_id, operation.expected
    readded = operation.path in ground.removed
    moved = None if readded or content_id is None else ground.moved.get(content_id)
    base = moved if found is None or readded else found
    if expected is not None:
        if base is None:
            return ConflictKind.KEY_DOES_NOT_EXIST, found
        return _first(_differences(operation.entry, base, value=False) | _differences(expected, base)), base
    if base is not None:
        return ConflictKind.KEY_EXISTS, base
    # A new entry gets a content id of its own; one that is given names something that would have to be there.
    unknown = content_id is not None and not readded
    return (ConflictKind.KEY_DOES_NOT_EXIST if unknown else None), found


def _differences(claimed: Entry, found: Entry, *, value: bool = True) -> set[ConflictKind]:
    """In what a claimed entry differs from the one that is there."""
    differs = {
        ConflictKind.PAYLOAD_DIFFERS: claimed.payload != found.payload,
        ConflictKind.CONTENT_ID_DIFFERS: claimed.content_id != found.content_id,
        ConflictKind.VALUE_DIFFERS: value and claimed.identity != found.identity,
    }
    return {kind for kind, different in differs.items() if different}


def _first(kinds: set[ConflictKind]) -> ConflictKind | None:
    """The one to report: kinds are declared in that order."""
    return next((kind for kind in ConflictKind if kind in kinds), None)
