"""What users write passes their type checker without casts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
import graveler


def sizes(repo: graveler.Repository) -> int:
    main: graveler.Branch = repo.branch("main")
    at: graveler.Snapshot = repo.at("main~1")
    try:
        total = sum(entry.size for entry in main.list("raw/")) + sum(entry.size for entry in at.list())
    except graveler.GravelerError as error:
        raise SystemExit(error.message) from error
    names: list[str] = [item.path for item in main.list(delimiter="/")]
    commit: graveler.CommitRecord = main.commit("Totals", metadata={"names": ",".join(names)})
    tag: graveler.Tag = repo.create_tag("v1", commit.id)
    return total + len(tag.id) + len(graveler.__version__)
"""


@pytest.mark.ci
def test_a_program_passes_mypy(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", "program.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
