"""Spark Connect: the data source, content, streams and the cluster, in a process that holds a client and a server."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_on_spark_connect(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    # Spark's own switch for tests: the server takes a port that is free.
    surroundings = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_TESTING": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "tests/graveler/spark/on_connect.py",
        "-q",
        f"--basetemp={tmp_path / 'tests'}",
    ]
    command += ["-p", "no:cacheprovider"]
    ran = subprocess.run(command, cwd=root, env=surroundings, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " passed" in ran.stdout
