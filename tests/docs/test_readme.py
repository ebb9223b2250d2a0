"""The links of all pages lead somewhere, and the index names all pages.

`tests/orchestration/test_demo.py` and the wheel tests run the README.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]*))?\)")


def anchors(page: Path) -> list[str]:
    """Return the anchors that GitHub gives to the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    words = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower() for heading in headings]
    return [re.sub(r"[^\w\- ]", "", each).replace(" ", "-") for each in words]


@pytest.mark.parametrize("page", sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *DOCS.rglob("*.md")]))
def test_links_lead_somewhere(page: str) -> None:
    for target, anchor in _LINK.findall((ROOT / page).read_text()):
        found = (ROOT / page).parent / target if target else ROOT / page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found), (target, anchor)


def test_the_index_names_all_pages() -> None:
    index = DOCS / "README.md"
    named = {(DOCS / target).resolve() for target, _ in _LINK.findall(index.read_text())}
    pages = {page for page in DOCS.rglob("*.md") if page != index and page.parent.name != "decisions"}
    assert pages <= named, sorted(map(str, pages - named))
