"""Run the examples of the guides: the Python of a page as one program, then its shell commands, on one repository.

A line that is one call of `graveler` runs in this process. The other lines are given to the shell, where the programs
`graveler` and `python` are forked (`tests/forked_programs.py`). The README's tests start real ones.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType

import pytest

from graveler_core.cli.app import run as command_line
from tests.foreign import fixtures
from tests.foreign.nessie_exports import HISTORY, write_archive
from tests.integration.lakefs.replay import Replay, replaying

GUIDES = sorted((Path(__file__).parents[2] / "docs" / "guides").glob("*.md"))
ALONE = [
    page for page in GUIDES if page.stem not in ("spark-cluster", "migrate-lakefs", "migrate-nessie", "table-formats")
]
"""Those that need nothing beside them. `test_spark_cluster_guide` and `test_table_formats_guide` follow two others."""
TABLES = next(page for page in GUIDES if page.stem == "table-formats")
_BLOCK = re.compile(r"^```(python|text|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)

_REPOSITORY = re.compile(r'create_(?:bare_)?repository\(\s*"([^"]+)"')
_NAMESPACE = re.compile(r'Path\("((?:lake|data)/[^"/]+)"\)')


def blocks(page: Path, language: str) -> list[str]:
    return [code for kind, code in _BLOCK.findall(page.read_text()) if kind == language]


def run(command: list[str], directory: Path, programs: Path) -> str:
    environment = {**os.environ, "PATH": os.pathsep.join([str(programs), os.environ["PATH"]])}
    done = subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_there_are_guides() -> None:
    assert GUIDES
    assert all(blocks(page, "python") for page in GUIDES)


@pytest.mark.parametrize("pattern", [_REPOSITORY, _NAMESPACE], ids=["repositories", "storage namespaces"])
def test_guides_that_are_followed_in_one_directory_do_not_collide(pattern: re.Pattern[str]) -> None:
    """Neither with each other nor with the demo, which has the same store."""
    used = [
        name
        for page in (*ALONE, TABLES)
        for name in {found for code in blocks(page, "python") for found in pattern.findall(code)}
    ]
    assert len(used) > 15
    assert sorted({name for name in used if used.count(name) > 1}) == []
    assert not {"flights", "timetable"} & set(used)


@pytest.mark.ci
@pytest.mark.parametrize("page", ALONE, ids=lambda page: page.stem)
def test_a_guide_prints_what_it_shows(
    page: Path, tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    follow(page, tmp_path, programs, capfd)


@pytest.mark.ci
def test_the_guide_for_lakefs_prints_what_it_shows(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(fixtures.NAMESPACE, tmp_path / "lake" / "flights")
    for state, name in (("first", "refs"), ("second", "refs-later")):
        shutil.copy(fixtures.PLACE / f"refs-{state}.json", tmp_path / f"{name}.json")
    monkeypatch.chdir(tmp_path)
    with replaying(Replay()) as server:
        page = next(page for page in GUIDES if page.stem == "migrate-lakefs")
        named = {"lakefs+https://key:secret@lakefs.example.com/flights": server.url, "$PWD": str(tmp_path)}
        follow(page, tmp_path, programs, capfd, named)


@pytest.mark.ci
def test_the_guide_for_nessie_prints_what_it_shows(
    tmp_path: Path, programs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    write_archive(HISTORY.files(2), tmp_path / "nessie.zip")
    monkeypatch.chdir(tmp_path)
    page = next(page for page in GUIDES if page.stem == "migrate-nessie")
    follow(page, tmp_path, programs, capfd, {"$PWD": str(tmp_path)})


def follow(
    page: Path,
    place: Path,
    programs: Path,
    capfd: pytest.CaptureFixture[str],
    named: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Run the Python of a page, then its commands, with some texts replaced."""
    program = place / "guide.py"
    program.write_text("\n".join(blocks(page, "python")))
    assert run([str(programs / "python"), program.name], place, programs) == "".join(blocks(page, "text"))
    commands = "".join(blocks(page, "sh"))
    for text, other in named.items():
        commands = commands.replace(text, other)
    for line in commands.splitlines():
        if line.startswith("graveler ") and not re.search(r"[|;&<>$`]", line):
            assert command_line(shlex.split(line)[1:]) == 0, (line, capfd.readouterr())
            assert capfd.readouterr().out, line
        else:
            assert run(["bash", "-euc", line], place, programs), line
