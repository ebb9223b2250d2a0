"""Run the examples of the README, and check the links of all pages."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import graveler

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [code for kind, code in _BLOCK.findall((ROOT / page).read_text()) if kind == language]


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A directory in which `./run demo` has made its store with the repository `flights`."""
    with graveler.connect(f"sqlite:///{tmp_path}/.graveler/meta.db") as g:
        g.create_repository("flights", (tmp_path / ".graveler" / "data" / "flights").as_uri())
    return tmp_path


def run(command: list[str], directory: Path) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_readme_works_in_its_order_and_again(checkout: Path) -> None:
    """In one directory, where the demo has run, twice: the Python, then the command line."""
    (code,) = blocks("README.md", "python")
    (shell,) = [code for code in blocks("README.md", "sh") if "graveler " in code]
    for _ in range(2):
        assert run([sys.executable, "-c", code], checkout).splitlines() == [
            "changed carriers/AA.json",
            "added carriers/UA.json",
            """b'{"name": "American"}'""",
            "['carriers/AA.json', 'carriers/UA.json']",
            """b'{"name": "American"}'""",
            "['Publish names', 'Full names', 'Add a carrier', 'Repository created']",
        ]
        assert "Add carriers" in run(["bash", "-euc", shell], checkout)


@pytest.mark.parametrize(
    "page", sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target
