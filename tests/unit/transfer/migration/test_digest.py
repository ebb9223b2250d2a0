"""Sources that differ in any value have different digests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from graveler_core.transfer.migration.digest import digest
from graveler_core.transfer.migration.source import Row


class Rows:
    """A source of a few rows."""

    def __init__(self, **rows: list[Row]) -> None:
        self._rows = rows

    def branches(self, repository: str) -> Iterator[Row]:
        return iter(self._rows.get("branches", []))

    def tags(self, repository: str) -> Iterator[Row]:
        return iter(self._rows.get("tags", []))

    def commits(self, repository: str) -> Iterator[Row]:
        return iter(self._rows.get("commits", []))

    def staged(self, token: str) -> Iterator[Row]:
        return iter(self._rows.get(f"staged_{token}", []))


def of(repository: Row = ("r",), **rows: list[Row]) -> str:
    source: Any = Rows(**rows)
    return digest(source, repository)


def test_any_value_counts() -> None:
    states = [
        of(),
        of(("r", None)),
        of(("r", "")),
        of(("r", b"")),
        of(("s",)),
        of(tags=[("a", "b")]),
        of(tags=[("ab", "")]),
        of(tags=[("a",), ("b",)]),
        of(commits=[("a", "b")]),
        of(commits=[("a", ["b"])]),
        of(branches=[("a", "t", "c")]),
        of(branches=[("a", "t", "c")], staged_t=[(b"k", None, None)]),
        of(branches=[("a", "t", "c")], staged_t=[(b"k", b"", None)]),
        of(branches=[("a", "t", "c"), ("b", None, "c")], staged_t=[(b"k", None, None)]),
        of(branches=[("a", "\udcff", "c")]),
        of(branches=[("a", 5, "c")]),
    ]
    assert all(left != right for left, right in combinations(states, 2))
    assert of(tags=[("a", "b")]) == of(tags=[("a", "b")])


def test_progress() -> None:
    source: Any = Rows(branches=[("a", "t", "c")], staged_t=[(b"k", None, None)] * 2_500)
    told = list[int]()
    digest(source, ("r",), told.append)
    assert sum(told) == 2_000
