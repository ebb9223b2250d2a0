"""What Spark says when it cannot work, as one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graveler_core.errors import Conflict, Unavailable
from jobs.spark_errors import NOT_INSTALLED, explained


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.", "needs Java 17"),
        ("java.lang.UnsupportedClassVersionError: org/apache/spark", "needs Java 17"),
        ("[SESSION_OR_CONTEXT_NOT_EXISTS] SparkContext should be created first.", "session is stopped"),
        ("Cannot call methods on a stopped SparkContext.\nThis stopped context", "session is stopped"),
        (f"Traceback\nRuntimeError: {NOT_INSTALLED}: No module named 'jobs'\nat java", "install graveler=="),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9", "another Python version"),
        ('java.io.IOException: Cannot run program "pythn": error=2', "PYSPARK_PYTHON names no program"),
        ("/usr/bin/python3: No module named pyspark", "lacks a module"),
    ],
)
def test_surroundings_are_told_in_a_sentence(said: str, meaning: str) -> None:
    with pytest.raises(Unavailable, match=meaning) as raised, explained():
        raise RuntimeError(said)
    assert "\n" not in raised.value.message
    assert isinstance(raised.value.__cause__, RuntimeError)


def test_other_errors_stay_what_they_are() -> None:
    with pytest.raises(ArithmeticError, match="item 7"), explained():
        raise ArithmeticError("item 7")
    with pytest.raises(Conflict, match="Cannot run program"), explained():
        raise Conflict("Cannot run program: it is in the way")


MAP_ONE = """
from pyspark.sql import SparkSession
from graveler_core.errors import GravelerError
from jobs.cluster import SparkCluster
from jobs.connection import Connection
from jobs.session import local_settings
from tests.jobs.toy_work import doubled

def session():
    builder = SparkSession.builder
    for name, value in local_settings(cores=1).items():
        builder = builder.config(name, value)
    return builder.getOrCreate()

at = Connection("sqlite:///meta.db")
at.connect().close()
try:
    print(list(SparkCluster(session, at).map(doubled, [1])))
except GravelerError as error:
    print(type(error).__name__, error.message)
"""


@pytest.mark.parametrize(
    ("surroundings", "told"),
    [
        ({"JAVA_HOME": "/nowhere"}, "Unavailable Spark needs Java 17 or later"),
        ({"PYSPARK_PYTHON": "/nowhere/python"}, "Unavailable Spark cannot start its Python workers"),
    ],
)
def test_missing_programs_are_told(tmp_path: Path, surroundings: dict[str, str], told: str) -> None:
    root = str(Path(__file__).parents[2])
    ran = subprocess.run(
        [sys.executable, "-c", MAP_ONE],
        check=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root, **surroundings},
        capture_output=True,
        text=True,
    )
    assert told in ran.stdout
