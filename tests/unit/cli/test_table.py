"""Tables: columns in line, within the terminal, and nothing cut off."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.cli.output import Column
from graveler_core.cli.table import GAP, NARROWEST, Table, fit


@pytest.mark.parametrize(
    ("natural", "folds", "room", "widths"),
    [
        ([12, 10], [False, True], 80, [12, 10]),
        ([12, 200], [False, True], 80, [12, 66]),
        ([12, 200, 5], [False, True, True], 80, [12, 59, 5]),
        ([12, 200, 200], [False, True, True], 80, [12, 32, 32]),
        ([12, 200], [False, True], 10, [12, NARROWEST]),
    ],
)
def test_shares_the_room(natural: list[int], folds: list[bool], room: int, widths: list[int]) -> None:
    assert fit(natural, folds, room) == widths


@given(st.lists(st.tuples(st.integers(0, 300), st.booleans()), min_size=1, max_size=6), st.integers(1, 300))
def test_stays_within_the_room_where_it_can(columns: list[tuple[int, bool]], room: int) -> None:
    natural, folds = [width for width, _ in columns], [fold for _, fold in columns]
    widths = fit(natural, folds, room)
    needed = sum(min(width, NARROWEST) if fold else width for width, fold in columns) + GAP * (len(columns) - 1)
    assert sum(widths) + GAP * (len(columns) - 1) <= max(room, needed)
    assert all(got <= width if fold else got == width for got, (width, fold) in zip(widths, columns, strict=True))


@pytest.mark.parametrize("width", ["20", "61", "200"])
def test_loses_no_character(monkeypatch: pytest.MonkeyPatch, width: str) -> None:
    monkeypatch.setenv("COLUMNS", width)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("NO_COLOR", "1")
    stream = io.StringIO()
    table = Table((Column("commit"), Column("name", folds=True), Column("path", folds=True)), stream)
    table.page([("c" * 12, "n" * 100, "数" * 100)])
    table.page([("c" * 12, "n" * 10, "p" * 300)])
    shown = stream.getvalue()
    assert [shown.count(char) for char in "cn数p"] == [24 + 1, 110 + 1, 100, 300 + 1]  # and once in the titles
    assert width == "20" or shown.count("c" * 12) == 2
