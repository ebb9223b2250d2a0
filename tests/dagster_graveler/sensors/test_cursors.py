"""Cursors come back as they were, or not at all."""

from __future__ import annotations

from typing import Literal

import pytest

from dagster_graveler.sensors import cursors


class Position(cursors.Cursor):
    version: Literal[3] = 3
    after: str = ""


def test_a_cursor_comes_back() -> None:
    assert cursors.read(Position, Position(after="lake/main").text()) == Position(after="lake/main")


@pytest.mark.parametrize(
    "text",
    [None, "", "rubbish", "[]", "null", "7", '{"version": 4, "after": "x"}', '{"after": 7}', '{"version": 3, "b": 1}'],
)
def test_an_unknown_cursor_is_begun_anew(text: str | None) -> None:
    assert cursors.read(Position, text) == Position()
