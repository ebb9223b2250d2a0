"""Entries and operations for the tests of transactions, and a second, slower opinion on which of them fit.

The oracle is the text of the rules (seed 002, stricter validations) one path at a time, without thought for cost.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace

from hypothesis import strategies as st

from graveler_core.codec.entry import normalise_entry
from graveler_core.model.entry import Entry
from graveler_core.model.operations import ConflictKind, Operation, Put, Remove, Unchanged

PATHS = ("a", "b", "c/d", "é")
Tree = dict[str, Entry]
Seen = tuple[str, str, str]
"""Path, kind of conflict, name of the operation's class."""


def content_id(number: int) -> uuid.UUID:
    """A content id that is told from others by its number."""
    return uuid.UUID(int=number)


def entry(number: int, *, id: int | None = None, payload: int = 0) -> Entry:
    """An entry that is told from others by its number, with a content id if one is given."""
    known = None if id is None else content_id(id)
    return Entry(address=f"data/{number}", size=number, checksum=f"sum{number}", payload=payload, content_id=known)


def tree(**held: Entry) -> Tree:
    """What is at some paths, as a branch would give it."""
    return {path: normalise_entry(path, found) for path, found in held.items()}


def entries() -> st.SearchStrategy[Entry]:
    """Entries that often agree in some of number, content id and payload."""
    ids = st.sampled_from([None, 1, 2, 3])
    return st.builds(lambda n, i, p: entry(n, id=i, payload=p), st.integers(1, 2), ids, st.integers(0, 1))


def trees() -> st.SearchStrategy[Tree]:
    """Trees whose content ids are unique, as transactions keep them."""
    held = st.dictionaries(st.sampled_from(PATHS), entries())
    return held.map(lambda found: tree(**found)).filter(unique)


@st.composite
def transactions(draw: st.DrawFn, found: Tree) -> list[Operation]:
    """Operations that the rules on repeated paths and content ids allow, about half of them fitting the tree."""
    chosen: list[Operation] = []
    values = entries() if not found else entries() | st.sampled_from(list(found.values()))
    expected = st.none() | values
    for path in draw(st.lists(st.sampled_from(PATHS), unique=True)):
        here = found.get(path)
        kind = draw(st.sampled_from(["put", "put", "remove", "readd", "unchanged"]))
        believed = draw(expected if here is None else expected | st.just(here))
        if kind == "unchanged":
            chosen.append(Unchanged(path, believed))
        if kind in ("remove", "readd"):
            chosen.append(Remove(path, believed))
        if kind in ("put", "readd"):
            given = draw(values)
            if believed is not None and draw(st.booleans()):
                given = replace(given, content_id=believed.content_id, payload=believed.payload)
            chosen.append(Put(path, given, draw(st.sampled_from([None, believed]))))
    given_ids = [o.entry.content_id for o in chosen if isinstance(o, Put) and o.entry.content_id is not None]
    if len(given_ids) != len(set(given_ids)):
        chosen = [o for o in chosen if not isinstance(o, Put)]
    return draw(st.permutations(chosen))


def judged(operations: Sequence[Operation], found: Mapping[str, Entry]) -> tuple[list[Seen], Tree]:
    """The conflicts in order of the paths, and the tree that the operations lead to where there are none."""
    removed = {o.path for o in operations if isinstance(o, Remove)}
    freed = {
        found[path].content_id: found[path] for path in removed & found.keys() if found[path].content_id is not None
    }
    seen = [
        (o.path, kind.value, type(o).__name__)
        for o in operations
        if (kind := _conflict(o, found, removed, freed)) is not None
    ]
    after = {path: held for path, held in found.items() if path not in removed}
    after |= {o.path: normalise_entry(o.path, o.entry) for o in operations if isinstance(o, Put)}
    return sorted(seen), after


def _conflict(
    o: Operation, found: Mapping[str, Entry], removed: set[str], freed: Mapping[uuid.UUID | None, Entry]
) -> ConflictKind | None:
    here = found.get(o.path)
    if not isinstance(o, Put):
        if here is None:
            return ConflictKind.KEY_DOES_NOT_EXIST
        return None if o.expected is None else _worst([o.expected], here, o.expected)
    given = o.entry
    if o.path in removed and (o.expected is None or here is not None):
        return None if o.expected is None else ConflictKind.KEY_DOES_NOT_EXIST
    stands = here if here is not None else None if given.content_id is None else freed.get(given.content_id)
    if o.expected is not None:
        return ConflictKind.KEY_DOES_NOT_EXIST if stands is None else _worst([given, o.expected], stands, o.expected)
    if stands is not None:
        return ConflictKind.KEY_EXISTS
    return None if given.content_id is None else ConflictKind.KEY_DOES_NOT_EXIST


def _worst(claims: list[Entry], there: Entry, expected: Entry) -> ConflictKind | None:
    if any(claim.payload != there.payload for claim in claims):
        return ConflictKind.PAYLOAD_DIFFERS
    if any(claim.content_id != there.content_id for claim in claims):
        return ConflictKind.CONTENT_ID_DIFFERS
    alike = normalise_entry("x", expected).identity == there.identity
    return None if alike else ConflictKind.VALUE_DIFFERS


def unique(found: Tree) -> bool:
    """Whether no content id is at two paths. A re-add may name one that is in use: nothing finds that out cheaply."""
    ids = [held.content_id for held in found.values() if held.content_id is not None]
    return len(ids) == len(set(ids))
