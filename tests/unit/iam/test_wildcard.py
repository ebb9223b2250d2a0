"""Wildcards against a matcher that tries everything, over small alphabets, all of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graveler_core.iam.wildcard import Pattern, Positions
from tests.unit.iam import naive

PATTERNS = list(naive.texts("a*?", 4))
PREFIXES = list(naive.texts("ab", 3))
SUFFIXES = list(naive.texts("ab", 5))
"""Longer than any pattern has question marks; `b` is in none of them."""


@given(st.text("ab*?.\n", max_size=12), st.text("ab.\n*", max_size=12))
def test_one_text(pattern: str, text: str) -> None:
    assert Pattern(pattern).matches(text) == naive.matches(pattern, text)


@given(st.text("ab*?", max_size=12), st.text("ab", max_size=12))
def test_positions_agree(pattern: str, text: str) -> None:
    """Both ways of matching give the same, so what is said of prefixes is said of texts."""
    collapsed = Pattern(pattern).text
    assert bool(Positions(collapsed).after(text) >> len(collapsed)) == naive.matches(pattern, text)


@pytest.mark.parametrize("prefix", PREFIXES)
def test_all_texts_with_a_prefix(prefix: str) -> None:
    for text in PATTERNS:
        pattern = Pattern(text)
        fits = [naive.matches(text, prefix + suffix) for suffix in SUFFIXES]
        assert (pattern.covers(prefix), pattern.meets(prefix)) == (all(fits), any(fits)), text


@pytest.mark.parametrize(
    ("pattern", "prefix", "covers", "meets"),
    [
        ("*", "", True, True),
        ("r/raw/*", "r/raw/", True, True),
        ("r/raw/*", "r/raw/2026/", True, True),
        ("r/raw/*", "r/ra", False, True),
        ("r/raw/*", "r/rare", False, False),
        ("r/raw/x", "r/raw/", False, True),
        ("r/*/secret/*", "r/raw/", False, True),
        ("r/*/secret/*", "r/raw/secret/", True, True),
        ("r/*.csv", "r/raw/", False, True),
        ("r/?*", "r/", False, True),
        ("r/*?", "r/x", True, True),
    ],
)
def test_prefixes_of_paths(pattern: str, prefix: str, covers: bool, meets: bool) -> None:
    made = Pattern(pattern)
    assert (made.covers(prefix), made.meets(prefix)) == (covers, meets)


def test_nothing_else_is_special() -> None:
    for text in ("[a]", "a|b", "(a)", "a+", "a.", "^a$", "\\", "{a}", "a\nb"):
        assert Pattern(text).matches(text)
        assert Pattern(f"*{text}?").matches(f"x{text}y")
        assert not Pattern(text).matches("a")


def test_no_pattern_blows_up() -> None:
    """A matcher that goes back would not end in the life of the sun."""
    text = "a" * 2_000
    for pattern in ("*a" * 500 + "b", "a*" * 500 + "b", "?*" * 500 + "b", "*aa?" * 300 + "*b*c"):
        made = Pattern(pattern)
        assert not made.matches(text)
        assert not made.covers(text)
        assert made.meets(text)


class Counted(str):
    """A text that counts how often a character of it is looked at."""

    seen = 0

    def __iter__(self):  # type: ignore[no-untyped-def]
        for symbol in str(self):
            Counted.seen += 1
            yield symbol


def test_a_prefix_is_walked_once() -> None:
    """However many stars there are: one step for each character."""
    Counted.seen = 0
    Positions("*a" * 200 + "*b?").takes_everything(Counted("a" * 1_000))
    assert Counted.seen == 1_000
