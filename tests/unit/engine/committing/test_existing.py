"""Entries below blind puts are read only if somebody wants them."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Iterator, Mapping

import pytest

from graveler_core.engine.committing.existing import ExistingEntries
from graveler_core.engine.committing.validation import normalised, validate
from graveler_core.errors import Conflict
from graveler_core.model.entry import Entry
from graveler_core.model.operations import ConflictKind, OperationConflict, Put, Remove, Resolution

A, B = (Entry(address=f"data/{path}", path=path, identity=path.encode() * 32) for path in "ab")
NEW = Entry(address="data/new")


class Unread(Mapping[str, Entry]):
    """Entries that are known to exist, and may not be read."""

    def __contains__(self, path: object) -> bool:
        return path in ("a", "b")

    def __getitem__(self, path: str) -> Entry:
        raise AssertionError(f"{path} is read")

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


@pytest.mark.parametrize(("resolution", "written"), [(Resolution.APPLY, [b"a", b"c"]), (Resolution.DROP, [b"c"])])
def test_an_arbiter_that_asks_for_nothing_reads_nothing(resolution: Resolution, written: list[bytes]) -> None:
    kinds: list[ConflictKind] = []

    def arbiter(conflict: OperationConflict) -> Resolution:
        kinds.append(conflict.kind)
        return resolution

    outcome = validate(normalised([Put("a", NEW), Put("c", NEW)]), Unread(), arbiter)
    assert [key for key, _ in outcome] == written
    assert kinds == [ConflictKind.KEY_EXISTS]


def test_operations_that_compare_read() -> None:
    with pytest.raises(AssertionError, match="b is read"):
        validate(normalised([Put("a", NEW), Remove("b")]), Unread(), lambda _: Resolution.APPLY)


def test_an_arbiter_sees_the_entry_and_may_keep_the_conflict() -> None:
    kept: list[OperationConflict] = []

    def arbiter(conflict: OperationConflict) -> Resolution:
        kept.append(conflict)
        return Resolution.APPLY

    operations = normalised([Put("a", NEW)])
    validate(operations, {"a": A}, arbiter)
    plain = OperationConflict("a", ConflictKind.KEY_EXISTS, operations[0], A)
    assert kept[0].existing == A
    assert copy.deepcopy(kept[0]) == pickle.loads(pickle.dumps(kept[0])) == plain


def test_a_refusal_shows_the_entry() -> None:
    with pytest.raises(Conflict) as raised:
        validate(normalised([Put("a", NEW)]), {"a": A})
    (conflict,) = raised.value.details["conflicts"]
    assert (type(conflict), conflict.existing) == (OperationConflict, A)


def test_other_entries_are_read_once() -> None:
    asked: list[str] = []

    def reader(path: str) -> Entry | None:
        asked.append(path)
        return B if path == "b" else None

    found = ExistingEntries({"a": A}, {"b": B.identity[:4], "gone": b"gone"}, reader)
    assert (len(found), sorted(found), "b" in found, "c" in found, asked) == (3, ["a", "b", "gone"], True, False, [])
    assert [found.beginning(path) for path in "abc"] == [A.identity, B.identity[:4], b""]
    assert (found["a"], found["b"], found["b"], found.get("c"), asked) == (A, B, B, None, ["b"])
    with pytest.raises(KeyError):
        found["gone"]
