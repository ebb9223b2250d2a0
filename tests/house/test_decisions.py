"""Decision records have numbers of their own."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

RECORDS = Path(__file__).parents[2] / "docs" / "decisions"
NAME = re.compile(r"(\d{3})-[a-z0-9-]+\.md")


def wrong(names: list[str]) -> list[str]:
    """The names that are malformed, or whose number occurs more than once."""
    numbers = Counter(name[:3] for name in names)
    return [name for name in names if not NAME.fullmatch(name) or numbers[name[:3]] > 1]


def test_numbers_are_unique() -> None:
    assert not wrong([record.name for record in RECORDS.iterdir()])


def test_titles_begin_with_their_number() -> None:
    def title(record: Path) -> str:
        return record.read_text("utf-8").partition("\n")[0]

    assert not [record.name for record in RECORDS.iterdir() if not title(record).startswith(f"# {record.name[:3]} ")]


def test_a_number_that_occurs_twice_is_found() -> None:
    names = ["001-first.md", "002-second.md", "002-other.md", "3-short.md"]
    assert wrong(names) == names[1:]
