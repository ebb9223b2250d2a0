"""Follow the tutorials as their readers do: files and commands in their order, in one directory.

A block with a file name, such as `py src/shop/definitions.py`, is that file. A block `sh` is run, and prints what the
following block `text` shows. A `yaml` file is one that a command has written, and has this content. A block `bash` is
not run: it installs packages or starts a server.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from tests.forked_programs import forked_programs

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
LONG = ("spark",)
"""Tutorials for the longest tier: this one starts Spark four times, for steps of the guide that CI follows."""
_BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)


class Shell:
    """A shell that keeps its variables from one block to the next."""

    def __init__(self, directory: Path, *programs: Path) -> None:
        places = [*map(str, programs), str(Path(sys.executable).parent), os.environ["PATH"]]
        home, path = directory / "home", os.pathsep.join(places)
        (home / ".config").mkdir(parents=True)
        (home / ".config" / "dg.toml").write_text("[cli.telemetry]\nenabled = false\n")
        self._directory = directory / "shop"
        self._directory.mkdir()
        self._variables = {**os.environ, "PATH": path, "HOME": str(home)}

    def write(self, name: str, content: str) -> None:
        """Write a file of the tutorial."""
        file = self._directory / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(content)

    def read(self, name: str) -> str:
        """Return the content of a file of the tutorial."""
        return (self._directory / name).read_text()

    def run(self, script: str) -> str:
        """Run the lines of a block. Return what they print."""
        dump = self._directory.parent / "variables"
        done = subprocess.run(
            ["bash", "-euc", f"{script}\nenv -0 > {dump}"],
            cwd=self._directory,
            env=self._variables,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, (script, done.stdout, done.stderr)
        self._variables = dict(line.split("=", 1) for line in dump.read_text().split("\0") if line)
        return done.stdout


@pytest.mark.ci
@pytest.mark.parametrize(
    "page",
    [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] if page.stem in LONG else []) for page in TUTORIALS],
)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path, programs: Path) -> None:
    blocks, printed = _BLOCK.findall(page.read_text()), ""
    dagster = any(language == "sh" and content.startswith("dg ") for language, _, content in blocks)
    with forked_programs("dg") if dagster else nullcontext() as theirs:
        shell = Shell(tmp_path, *filter(None, (theirs, programs)))
        for language, name, content in blocks:
            if name and language == "yaml":
                assert shell.read(name) == content
            elif name:
                shell.write(name, content)
            elif language == "sh":
                printed = shell.run(content)
            elif language == "text":
                assert printed.endswith(content), (printed, content)


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
