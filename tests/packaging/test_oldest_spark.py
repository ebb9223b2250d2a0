"""`graveler.spark` on the oldest Spark that `pyproject.toml` allows. All other tests run on the newest one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.examples import FEW

ROOT = Path(__file__).parents[2]
UV = ROOT / ".tools" / "bin" / "uv"
TESTED = [
    "tests/graveler/spark/source",
    *(
        f"tests/graveler/spark/test_{name}.py"
        for name in ("bad_input", "collection_on_spark", "connection", "engine_on_spark", "session", "stage", "tables")
    ),
    "tests/jobs",
]


def oldest() -> str:
    """Return the lower bound of `pyspark` in the extra `spark`."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    (bound,) = re.findall(r"^pyspark>=([\d.]+)", "\n".join(project["optional-dependencies"]["spark"]), re.MULTILINE)
    return f"{bound}.0"


@pytest.mark.slow
def test_work_on_the_oldest_spark(tmp_path: Path) -> None:
    pins = re.findall(r"^([\w.-]+)==([^\\\n]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    wanted, python = tmp_path / "wanted.txt", tmp_path / "environment" / "bin" / "python"
    wanted.write_text("\n".join(f"{name}=={oldest() if name == 'pyspark' else pin}" for name, pin in pins))
    install = ["pip", "install", "-q", "--python", str(python), "--no-deps"]
    for step in (
        ["venv", "-q", "--python", sys.executable, str(tmp_path / "environment")],
        [*install, "-r", str(wanted)],
        [*install, "--no-build-isolation", str(ROOT)],
    ):
        subprocess.run([UV, *step], cwd=ROOT, check=True)
    ran = subprocess.run(
        [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", *TESTED],
        cwd=ROOT,
        env={
            **os.environ,
            "EXAMPLES": FEW,
            "PYSPARK_DRIVER_PYTHON": str(python),
            "PYSPARK_PYTHON": str(python),
            "VIRTUAL_ENV": str(tmp_path / "environment"),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5_000:] + ran.stderr[-2_000:]
