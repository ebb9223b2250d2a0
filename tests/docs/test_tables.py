"""Tables of the documentation: a row has the columns of its table, or readers do not see all of it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_TABLE = re.compile(r"(?:^\|.*\n)+", re.MULTILINE)
_CODE = re.compile(r"`[^`]*`")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_row_has_the_columns_of_its_table(page: Path) -> None:
    for table in _TABLE.findall(page.read_text()):
        head, *rows = [_CODE.sub("", row).count("|") for row in table.splitlines()]
        assert rows == [head] * len(rows), table
