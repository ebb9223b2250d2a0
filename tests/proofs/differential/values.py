"""What an entry is to the model, and what two or three states of a repository say about each other.

Everything here is derived from the documentation and uses dictionaries; nothing of the engine is called.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from graveler_core.model.entry import AddressType, Entry


class Value:
    """What a path holds. `fields` is all of it; `own` decides whether two values are equal.

    Documented with `Entry`: the identity covers everything but the path, the modification time and, where there is a
    checksum, the address.
    """

    __slots__ = ("fields", "own")

    def __init__(self, entry: Entry) -> None:
        metadata = tuple(sorted(entry.metadata.items()))
        said = (entry.address_type, entry.size, entry.checksum, entry.content_type, metadata)
        rest = (entry.data, entry.payload, entry.content_id)
        self.fields = (entry.address, *said, *rest, entry.mtime)
        self.own = (entry.address if entry.checksum is None else None, *said, *rest)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Value) and self.fields == other.fields

    def __hash__(self) -> int:
        return hash(self.fields)

    def __repr__(self) -> str:
        return f"Value{self.fields}"

    @property
    def entry(self) -> Entry:
        """The value as people give it."""
        address, kind, size, checksum, content_type, metadata, data, payload, content_id, mtime = self.fields
        return Entry(
            address, size, checksum, mtime, content_type, dict(metadata), data, payload, content_id, kind
        )  # fmt: skip


Content = Mapping[str, Value]
Pair = tuple[Value | None, Value | None]
Changes = dict[str, Pair]


def staged_value(entry: Entry) -> Value:
    """What a path holds once a user's entry is staged: data without an address is inline, and has a size."""
    kind, size = entry.address_type, entry.size
    if entry.address is None and entry.data is not None and kind is AddressType.RELATIVE:
        kind = AddressType.INLINE
    if kind is AddressType.INLINE and size == 0 and entry.data is not None:
        size = len(entry.data)
    given = (entry.checksum, entry.mtime, entry.content_type, entry.metadata, entry.data, entry.payload)
    return Value(Entry(entry.address, size, *given, entry.content_id, kind))


def same(left: Value | None, right: Value | None) -> bool:
    """Whether two values, or their absence, are equal by identity."""
    return left is right or (left is not None and right is not None and left.own == right.own)


def changes(before: Content, after: Content) -> Changes:
    """What differs between two states, by path, in no order."""
    found: Changes = {}
    for path, new in after.items():
        old = before.get(path)
        if old is not new and not same(old, new):
            found[path] = (old, new)
    for path, old in before.items():
        if path not in after:
            found[path] = (old, None)
    return found


def within(found: Mapping[str, Any], prefix: str = "", after: str = "") -> list[tuple[str, Any]]:
    """The items under a prefix and behind a path, in order. Texts and their UTF-8 bytes have one order."""
    return sorted(
        (item for item in found.items() if item[0].startswith(prefix) and (not after or item[0] > after)),
        key=lambda item: item[0],
    )


def counts(found: Changes, prefix: str = "") -> tuple[int, int, int]:
    """How many paths were added, changed and removed."""
    pairs = [pair for path, pair in found.items() if path.startswith(prefix)]
    added = sum(old is None for old, _ in pairs)
    removed = sum(new is None for _, new in pairs)
    return added, len(pairs) - added - removed, removed


def grouped(content: Content, prefix: str, after: str, delimiter: str) -> list[tuple[str, Value | None]]:
    """A listing; a common prefix has no value."""
    if not delimiter:
        return within(content, prefix, after)
    items: dict[str, Value | None] = {}
    for path, value in within(content, prefix, after):
        at = path.find(delimiter, len(prefix))
        if at < 0:
            items[path] = value
        else:
            items[path[: at + len(delimiter)]] = None
    return [item for item in items.items() if item[0] != after]


@dataclass(frozen=True)
class Sides:
    """The three states that a merge puts together."""

    base: Content
    source: Content
    destination: Content

    @property
    def brought(self) -> Changes:
        """What the source changed since the base."""
        return changes(self.base, self.source)


@dataclass(frozen=True)
class Merged:
    """What a merge gives."""

    content: dict[str, Value]
    conflicts: dict[str, tuple[Value | None, Value | None, Value | None]]
    """By path: what base, source and destination hold."""
    taken: frozenset[str]
    """Paths at which the merge takes the source's state."""


def merged(
    sides: Sides, strategy: str | None = None, resolve: Mapping[str, str | Value | None] | None = None
) -> Merged:
    """Merge by the documented rule: a path that one side changed is taken from it, and a strategy decides the rest."""
    content, resolve = dict(sides.destination), resolve or {}
    conflicts, taken = {}, set()
    for path, (old, theirs) in sides.brought.items():
        ours, wanted = sides.destination.get(path), theirs
        if path in resolve:
            chosen = resolve[path]
            wanted = {"source": theirs, "destination": ours}[chosen] if isinstance(chosen, str) else chosen
            if chosen == "source":
                taken.add(path)
        elif not same(theirs, ours) and not same(ours, old):
            if strategy is None:
                conflicts[path] = (old, theirs, ours)
            if strategy != "source":
                continue
            taken.add(path)
        elif not same(theirs, ours):
            taken.add(path)
        if not same(wanted, ours):
            put(content, path, wanted)
    return Merged(content, conflicts, frozenset(taken))


def put(content: dict[str, Value], path: str, value: Value | None) -> None:
    """Set a path, or take it away."""
    if value is None:
        content.pop(path, None)
    else:
        content[path] = value


def under(content: Content, prefixes: Iterable[str]) -> dict[str, Value]:
    """The part of a state that lies under some prefixes."""
    chosen = tuple(prefixes)
    return {path: value for path, value in content.items() if path.startswith(chosen)}


Named = Callable[[str], str]
