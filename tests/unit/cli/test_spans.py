"""Tests of durations on the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from graveler_core.cli.spans import span, span_for_people
from graveler_core.documents.values import span_for_machines
from graveler_core.errors import InvalidInput


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("7d", timedelta(days=7)),
        ("36h", timedelta(hours=36)),
        ("90m", timedelta(minutes=90)),
        ("30s", timedelta(seconds=30)),
        ("0s", timedelta(0)),
        ("007d", timedelta(days=7)),
    ],
)
def test_what_is_understood(text: str, meant: timedelta) -> None:
    assert span("--grace", text) == meant


@pytest.mark.parametrize("text", ["", "7", "d", "-7d", "7 d", "1.5h", "7w", "1234567d", "7d ", "٧d"])
def test_anything_else_is_refused_with_the_rule(text: str) -> None:
    with pytest.raises(InvalidInput, match="as in 7d") as refused:
        span("--grace", text)
    assert refused.value.message.startswith(f"--grace {text!r}: ")


def test_nothing_is_no_span_where_one_is_needed() -> None:
    assert span("--age", "1s", positive=True) == timedelta(seconds=1)
    with pytest.raises(InvalidInput, match="--age '0h': must be more than zero"):
        span("--age", "0h", positive=True)


def test_how_it_is_shown() -> None:
    assert span_for_people(timedelta(days=2, seconds=61.9)) == "2 days, 0:01:01"
    assert span_for_machines(timedelta(seconds=61.5)) == 61.5
