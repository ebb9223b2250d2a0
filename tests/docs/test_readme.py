"""What the README and the guides show, run."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: str, language: str) -> list[str]:
    return [code for kind, code in _BLOCK.findall((ROOT / page).read_text()) if kind == language]


def test_the_python_of_the_readme_prints_what_its_comments_say(tmp_path: Path) -> None:
    (code,) = blocks("README.md", "python")
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "changed carriers/AA.json",
        "added carriers/UA.json",
        """b'{"name": "American"}'""",
        "['carriers/AA.json', 'carriers/UA.json']",
        """b'{"name": "American"}'""",
        "['Publish names', 'Full names', 'Add a carrier', 'Repository created']",
    ]


def test_the_command_line_of_the_readme_runs(tmp_path: Path) -> None:
    (tmp_path / "carriers.csv").write_text("carrier,name\nAA,American Airlines\n")
    (shell,) = [code for code in blocks("README.md", "sh") if code.startswith("graveler ")]
    program = Path(sys.executable).with_name("graveler")
    for line in shell.splitlines():
        command = re.findall(r'"[^"]*"|\S+', line)
        words = [str(program), *(word.strip('"') for word in command[1:])]
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, (line, done.stderr)
    assert "Add carriers" in done.stdout


@pytest.mark.parametrize(
    "page", sorted(str(p.relative_to(ROOT)) for p in [ROOT / "README.md", *ROOT.glob("docs/*.md")])
)
def test_links_lead_somewhere(page: str) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", (ROOT / page).read_text()):
        assert ((ROOT / page).parent / target).exists(), target
