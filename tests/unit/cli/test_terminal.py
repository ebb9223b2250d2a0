"""Text that others wrote: shown on one line, with nothing a terminal would act upon."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.cli.terminal import bytes_for_people, first_line
from graveler_core.documents.text import visible
from graveler_core.documents.values import time_for_machines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain ünïcode 数据 🛫", "plain ünïcode 数据 🛫"),
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\nb\tc\r", "a\\nb\\tc\\r"),
        ("gpj\u202e.exe", "gpj\\u202e.exe"),
        ("bad\udcff", "bad\\udcff"),
        ("[bold]not markup[/bold]", "[bold]not markup[/bold]"),
    ],
)
def test_makes_control_characters_visible(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text())
def test_leaves_nothing_that_moves_a_cursor_or_breaks_a_line(text: str) -> None:
    shown = visible(text)
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cs", "Zl", "Zp"}
    assert len(shown.splitlines()) <= 1


def test_shortens_a_message_to_its_first_line() -> None:
    assert first_line("Load January\n\nwith weather") == "Load January …"
    assert first_line("  Load \x1b January\n") == "Load \\x1b January"
    assert first_line("") == ""


@pytest.mark.parametrize(
    ("size", "shown"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1_000, "1.0 kB"),
        (123_456, "123 kB"),
        (3 * 10**12, "3.0 TB"),
        (10**19, "10,000.0 PB"),
    ],
)
def test_shows_sizes_with_a_unit(size: int, shown: str) -> None:
    assert bytes_for_people(size) == shown


def test_writes_times_in_utc_for_machines() -> None:
    moment = datetime(2013, 1, 1, 2, 0, 0, 5, tzinfo=timezone(timedelta(hours=2)))
    assert time_for_machines(moment) == "2013-01-01T00:00:00.000005Z"
    assert time_for_machines(moment.astimezone(UTC)) == "2013-01-01T00:00:00.000005Z"
