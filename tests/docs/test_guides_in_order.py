"""All guides in the order of the index, in one directory, as a reader would follow them.

A guide whose examples look at a whole store therefore needs a store of its own.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.test_guides import ALONE, follow

INDEX = Path(__file__).parents[2] / "docs" / "README.md"


@pytest.mark.slow
def test_guides_can_be_followed_one_after_the_other(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = re.findall(r"\]\(guides/([\w-]+)\.md\)", INDEX.read_text())
    pages = {page.stem: page for page in ALONE}
    for name in names:
        if name in pages:
            follow(pages[name], tmp_path, programs, capfd)
