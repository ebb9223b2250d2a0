"""Run the examples of the guides: the Python of a page as one program, then its shell commands, on one repository.

A line that is one call of `graveler` runs in this process: starting the program takes longer than most calls, and the
README's tests start it. Lines with more than that are given to the shell.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from graveler_core.cli.app import run as command_line

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))
ALONE = [page for page in GUIDES if page.stem != "spark-cluster"]
"""Those that need nothing beside them: `test_spark_cluster_guide` follows the other one."""
_BLOCK = re.compile(r"^```(python|text|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in _BLOCK.findall(page.read_text()) if kind == language]


def run(command: list[str], directory: Path) -> str:
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_there_are_guides() -> None:
    assert GUIDES
    assert all(blocks(page, "python") for page in GUIDES)


@pytest.mark.ci
@pytest.mark.parametrize("page", ALONE, ids=lambda page: page.stem)
def test_a_guide_prints_what_it_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "guide.py"
    program.write_text("\n".join(blocks(page, "python")))
    assert run([sys.executable, program.name], tmp_path) == "".join(blocks(page, "text"))
    monkeypatch.chdir(tmp_path)
    for line in "".join(blocks(page, "sh")).splitlines():
        if line.startswith("graveler ") and not re.search(r"[|;&<>$`]", line):
            assert command_line(shlex.split(line)[1:]) == 0, (line, capfd.readouterr())
            assert capfd.readouterr().out, line
        else:
            assert run(["bash", "-euc", line], tmp_path), line


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
