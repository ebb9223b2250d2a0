"""The library on the lowest versions of its dependencies that `pyproject.toml` allows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.examples import FEW

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
RECORDS = ["tests/unit/codec", "tests/golden"]
"""Tests of every kind of record. A new field of a record may need a newer version of a library."""
TESTED = [
    *RECORDS,
    *(f"tests/unit/{name}" for name in ("blobs", "cli", "committed", "engine", "facade", "iam", "kv", "model")),
    *(f"tests/unit/{name}" for name in ("objects", "records", "refs", "segments", "staging", "telemetry", "transfer")),
    "tests/conformance",
]
WITHOUT_INTEGRATIONS = [
    "tests/conformance/test_lockdrop.py::test_one_copy_of_sqlite_is_loaded",
    "tests/conformance/test_lockdrop.py::test_a_second_copy_would_be_seen",
    "tests/unit/cli/test_clusters.py::test_spark_is_imported_with_the_option_alone",
]
"""Tests that need Dagster or Spark, which are not among the dependencies of the library."""


@pytest.mark.parametrize(
    "tested",
    [
        pytest.param(RECORDS, marks=pytest.mark.ci, id="records"),
        pytest.param(TESTED, marks=pytest.mark.slow, id="library"),
    ],
)
def test_the_library_on_its_lowest_versions(tested: list[str], tmp_path: Path) -> None:
    python = tmp_path / "environment" / "bin" / "python"
    for step in (
        ["venv", "-q", "--python", sys.executable, str(tmp_path / "environment")],
        ["pip", "sync", "-q", "--python", str(python), "--require-hashes", "requirements-lowest.lock"],
    ):
        subprocess.run([UV, *step], cwd=ROOT, check=True)
    wheel = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path / "dist")]
    subprocess.run(wheel, cwd=ROOT, check=True, capture_output=True)
    (built,) = (tmp_path / "dist").glob("*.whl")
    subprocess.run([UV, "pip", "install", "-q", "--python", python, "--no-deps", "--no-index", built], check=True)
    left_out = [f"--deselect={name}" for name in WITHOUT_INTEGRATIONS]
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *left_out, *tested],
        cwd=ROOT,
        env={**os.environ, "VIRTUAL_ENV": str(tmp_path / "environment"), "EXAMPLES": FEW},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
