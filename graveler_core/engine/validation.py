"""Whether the operations of a transaction fit what is there: pure, all conflicts at once. Source: seed 002.

Only pointers are compared (identity, payload, content id); no content is read.
"""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
)

Arbiter = Callable[[OperationConflict], Resolution]


def fail(conflict: OperationConflict) -> Resolution:
    """The arbiter that lets no conflict pass."""
    return Resolution.CONFLICT


@dataclass(frozen=True, slots=True)
class _Ground:
    """What a transaction stands on."""

    existing: Mapping[str, Entry]
    removed: Mapping[str, Entry]
    """What the transaction itself takes away, by path."""
    moved: Mapping[uuid.UUID, Entry]
    """What the transaction itself takes away, by content id: what a rename may bring to another path."""


def normalised(operations: Sequence[Operation]) -> list[Operation]:
    """The operations with checked entries.

    Raises:
        InvalidInput: a path twice (but for remove and put, which re-adds), a content id twice, or a bad entry.
    """
    paths = Counter(operation.path for operation in operations)
    for path, count in paths.items():
        kinds = [type(operation) for operation in operations if count > 1 and operation.path == path]
        if count > 1 and (count > 2 or set(kinds) != {Put, Remove}):
            raise InvalidInput(f"transaction: duplicate key {path!r}", path=path)
    checked = [_normalised(operation) for operation in operations]
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
    removed = {o.path: existing[o.path] for o in operations if isinstance(o, Remove) and o.path in existing}
    moved = {entry.content_id: entry for entry in removed.values() if entry.content_id is not None}
    ground = _Ground(existing, removed, moved)
    refused: list[OperationConflict] = []
    outcome: dict[bytes, Entry | None] = {}
    # Removes first: a re-add of the same path then stands over them.
    for operation in sorted(operations, key=lambda o: not isinstance(o, Remove)):
        conflict = _conflict(operation, ground)
        resolution = Resolution.APPLY if conflict is None else arbiter(conflict)
        if conflict is not None and resolution is Resolution.CONFLICT:
            refused.append(conflict)
        elif resolution is Resolution.APPLY and isinstance(operation, Put | Remove):
            outcome[path_key(operation.path)] = operation.entry if isinstance(operation, Put) else None
    if refused:
        first = refused[0]
        raise Conflict(
            f"transaction: {len(refused)} of {len(operations)} operations conflict, the first at {first.path!r}: "
            f"{first.kind.replace('_', ' ')}",
            kind=Kind.TransactionConflict,
            conflicts=sorted(refused, key=lambda conflict: path_key(conflict.path)),
        )
    return sorted(outcome.items())


def with_content_ids(
    outcome: Sequence[tuple[bytes, Entry | None]], drawn: Mapping[str, uuid.UUID]
) -> list[tuple[bytes, Entry | None]]:
    """The outcome of `validate`, new entries with the content ids that were drawn for their paths."""
    return [
        (key, normalise_entry(entry.path, replace(entry, content_id=drawn[entry.path])))
        if entry is not None and entry.content_id is None and entry.path in drawn
        else (key, entry)
        for key, entry in outcome
    ]


def _normalised(operation: Operation) -> Operation:
    path_key(operation.path)
    expected = None if operation.expected is None else normalise_entry(operation.path, operation.expected)
    if not isinstance(operation, Put):
        return type(operation)(operation.path, expected)
    return Put(operation.path, normalise_entry(operation.path, operation.entry), expected)


def _conflict(operation: Operation, ground: _Ground) -> OperationConflict | None:
    found = ground.existing.get(operation.path)
    if isinstance(operation, Put):
        kind, found = _put(operation, found, ground)
    elif found is None:
        kind = ConflictKind.KEY_DOES_NOT_EXIST
    else:
        kind = None if operation.expected is None else _differs(operation.expected, found)
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
        return _differs(operation.entry, base, value=False) or _differs(expected, base), base
    if base is not None:
        return ConflictKind.KEY_EXISTS, base
    # A new entry gets a content id of its own; one that is given names something that would have to be there.
    unknown = content_id is not None and not readded
    return (ConflictKind.KEY_DOES_NOT_EXIST if unknown else None), found


def _differs(claimed: Entry, found: Entry, *, value: bool = True) -> ConflictKind | None:
    """In what a claimed entry differs from the one that is there."""
    if claimed.payload != found.payload:
        return ConflictKind.PAYLOAD_DIFFERS
    if claimed.content_id != found.content_id:
        return ConflictKind.CONTENT_ID_DIFFERS
    return ConflictKind.VALUE_DIFFERS if value and claimed.identity != found.identity else None
