"""Listings grouped at a delimiter, beside a plain computation over all paths."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graveler_core.codec.entry import entries, record_table
from graveler_core.engine.reading import listing
from graveler_core.model.bounds import Bounds
from graveler_core.model.entry import ENTRY_SCHEMA, CommonPrefix, Entry
from tests.examples import examples

Source = Callable[[tuple[bytes, bytes | None], int], pa.Table]


def _source(paths: list[str]) -> Source:
    rows = [(path.encode(), Entry(address=f"at/{path}", path=path)) for path in sorted(paths)]
    table = record_table(rows).select(ENTRY_SCHEMA.names)
    keys = [key for key, _ in rows]

    def page(span: tuple[bytes, bytes | None], most: int) -> pa.Table:
        start, end = span
        within = [row for row, key in enumerate(keys) if key >= start and (end is None or key < end)]
        return table.slice(within[0], min(most, len(within))) if within else table.slice(0, 0)

    return page


def _shown(paths: list[str], window: listing.Window) -> list[tuple[type, str]]:
    return [(type(item), item.path) for item in listing.items(_source(paths), window)]


def _expected(paths: list[str], prefix: str, delimiter: str, after: str = "") -> list[tuple[type, str]]:
    shown = dict[str, type]()
    for path in sorted(path for path in paths if path.startswith(prefix) and path > after):
        at = path.find(delimiter, len(prefix))
        shown[path if at < 0 else path[: at + 1]] = Entry if at < 0 else CommonPrefix
    return [(kind, path) for path, kind in shown.items() if path != after]


@settings(max_examples=examples(200))
@given(
    st.sets(st.text("ab/", min_size=1, max_size=6), max_size=60),
    st.sampled_from(["", "a", "a/"]),
    st.text("ab/", max_size=4),
    st.integers(1, 9),
)
def test_entries_and_groups_in_their_order(paths: set[str], prefix: str, after: str, page: int) -> None:
    window = listing.Window(Bounds(prefix, after), "/", page)
    assert _shown(list(paths), window) == _expected(list(paths), prefix, "/", after)


@pytest.mark.parametrize("between", [[], ["d0150/x"], ["d0128/x", "d0128/y", "d0300/x"]])
def test_many_entries_between_groups(between: list[str]) -> None:
    paths = [f"d{number:04}" for number in range(400)] + between
    assert _shown(paths, listing.Window(delimiter="/")) == _expected(paths, "", "/")


def test_entries_are_converted_together(monkeypatch: pytest.MonkeyPatch) -> None:
    converted = list[int]()

    def counted(table: pa.Table) -> object:
        converted.append(table.num_rows)
        return entries(table)

    monkeypatch.setattr(listing, "entries", counted)
    paths = [f"d{number:04}" for number in range(1_000)] + ["d0500/x"]
    assert len(_shown(paths, listing.Window(delimiter="/"))) == 1_001
    assert sum(converted) == 1_000
    assert len(converted) <= 1_000 // 128 + 2
