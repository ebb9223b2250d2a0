"""The checkout, for the tests that read the project's own files."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.house.project import Project


@pytest.fixture(scope="session")
def project() -> Project:
    root = Path(__file__).resolve().parents[2]
    listed = subprocess.run(
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    paths = sorted({Path(name) for name in listed.split("\0") if name})
    return Project(root, tuple(path for path in paths if (root / path).is_file()))
