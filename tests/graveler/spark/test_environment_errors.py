"""Tests of the errors that report an unusable Spark environment in one sentence."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from graveler.spark.environment_errors import NOT_INSTALLED, explained
from graveler_core.errors import Conflict, Unavailable


@pytest.mark.parametrize(
    ("said", "meaning"),
    [
        ("[JAVA_GATEWAY_EXITED] Java gateway process exited before sending its port number.", "needs Java 17"),
        ("java.lang.UnsupportedClassVersionError: org/apache/spark", "needs Java 17"),
        ("[SESSION_OR_CONTEXT_NOT_EXISTS] SparkContext should be created first.", "session is stopped"),
        ("Cannot call methods on a stopped SparkContext.\nThis stopped context", "session is stopped"),
        (f"Traceback\nRuntimeError: {NOT_INSTALLED}: No module named 'graveler'\nat java", "install graveler=="),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.9", "another Python version"),
        ('java.io.IOException: Cannot run program "pythn": error=2', "PYSPARK_PYTHON must name"),
        ("/usr/bin/python3: No module named pyspark", "lacks a module"),
        ("[PACKAGE_NOT_INSTALLED] grpcio-status >= 1.48.1 must be installed", r"install pyspark\[connect\]"),
        ('org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "gs"', "no file system"),
        ("java.lang.ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "hadoop-aws"),
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
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.session import local_settings
from graveler.spark.source import register
from tests.graveler.spark.toy_work import doubled

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
READ = (
    MAP_ONE
    + """
register(session())
try:
    session().read.format("graveler").options(store=at.url, repository="lake").load()
except Exception as error:
    print([line for line in str(error).splitlines() if line.startswith("ModuleNotFoundError")])
"""
)
WITHOUT_PACKAGE = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("graveler", "graveler_core"):
            raise ModuleNotFoundError(f"No module named {name!r}")

sys.meta_path.insert(0, Without())
"""


@pytest.mark.ci
@pytest.mark.parametrize(
    ("surroundings", "told"),
    [
        (
            {"JAVA_HOME": "/nowhere"},
            "Spark needs Java 17 or later: what JAVA_HOME names, '/nowhere', is none, or older",
        ),
        (
            {"PYSPARK_PYTHON": "/nowhere/python"},
            "Spark cannot start its Python workers: PYSPARK_PYTHON must name an existing program",
        ),
    ],
)
def test_missing_programs_are_told(tmp_path: Path, surroundings: dict[str, str], told: str) -> None:
    said = ran(MAP_ONE, tmp_path, surroundings)
    assert f"Unavailable {told}" in said
    assert all(value in said for value in surroundings.values())


@pytest.mark.ci
def test_an_old_java_is_told(tmp_path: Path) -> None:
    """Java 11 ends at once with this: the classes of Spark 4 are made for 17."""
    java = program(tmp_path / "jdk-11" / "bin" / "java", "echo UnsupportedClassVersionError >&2; exit 1")
    home = str(java.parents[1])
    assert f"Unavailable Spark needs Java 17 or later: what JAVA_HOME names, {home!r}, is none, or older" in ran(
        MAP_ONE, tmp_path, {"JAVA_HOME": home}
    )


def test_no_java_at_all_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Unavailable, match="later: JAVA_HOME is not set, and in PATH is none"), explained():
        raise RuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")


@pytest.mark.ci
def test_workers_without_the_package_are_told(tmp_path: Path) -> None:
    """Their Python is this one, but for an import that fails."""
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / "sitecustomize.py").write_text(WITHOUT_PACKAGE)
    python = program(tmp_path / "python", f'PYTHONPATH="{tmp_path / "site"}:$PYTHONPATH" exec "{sys.executable}" "$@"')
    said = ran(READ, tmp_path, {"PYSPARK_PYTHON": str(python), "PYSPARK_DRIVER_PYTHON": sys.executable})
    assert "Unavailable Spark's workers do not have the package graveler: install graveler==" in said
    assert "(RuntimeError: graveler is not installed: No module named 'graveler')" in said
    assert "ModuleNotFoundError: No module named 'graveler'" in said


def program(file: Path, script: str) -> Path:
    """A program that is a shell script."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return file


def ran(source: str, directory: Path, surroundings: dict[str, str]) -> str:
    """What a program in Python prints, run in a directory."""
    root = str(Path(__file__).parents[3])
    done = subprocess.run(
        [sys.executable, "-c", source],
        check=True,
        cwd=directory,
        env={**os.environ, "PYTHONPATH": root, **surroundings},
        capture_output=True,
        text=True,
    )
    return done.stdout
