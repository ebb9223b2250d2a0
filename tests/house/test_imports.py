"""Importing the library opens nothing, starts nothing, and brings in nothing that only Dagster, Spark or plots need."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.project import Project

HEAVY = {
    "dagster",
    "dagster_pyspark",
    "pyspark",
    "py4j",
    "matplotlib",
    "pandas",
    "moto",
    "pytest",
    "hypothesis",
    "grpc",
}

# Python's own audit events tell what an import does; reading source files is what an import is.
PROBE = """
import json, os, sys, threading
sys.dont_write_bytecode = True
seen = []
acts = {"socket.connect", "socket.bind", "sqlite3.connect", "subprocess.Popen", "os.mkdir", "os.remove", "os.rename"}
def writes(path, mode, flags):
    return bool(set(mode or "") & set("wax+")) or bool(flags & (os.O_WRONLY | os.O_RDWR))
def watch(event, args):
    if event in acts or (event == "open" and writes(*args)):
        seen.append(f"{event} {args!r}"[:200])
sys.addaudithook(watch)
for name in json.loads(sys.argv[1]):
    __import__(name)
print(json.dumps([seen, threading.active_count(), sorted({name.partition(".")[0] for name in sys.modules})]))
"""


def probe(modules: list[str]) -> tuple[list[str], int, set[str]]:
    """Import the modules in a fresh interpreter.

    Returns: what was opened or started, how many threads run, and the top-level packages that were loaded.
    """
    ran = subprocess.run(
        [sys.executable, "-c", PROBE, json.dumps(modules)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    opened, threads, packages = json.loads(ran.stdout)
    return opened, threads, set(packages)


BIGTABLE = "graveler_core.kv.backends.bigtable"
"""Beginning of the names of modules that need gRPC. Only the URL of such a store imports them."""


def library(project: Project) -> list[str]:
    modules = [source.module for source in project.sources("graveler_core")]
    left_out = ("graveler_core.testing", BIGTABLE)
    return [name for name in modules if not name.startswith(left_out) and not name.endswith("__main__")]


# urllib3 asks once, without any traffic, if the system has addresses of version 6.
HARMLESS = "laddr=('::', 0, 0, 0)>, ('::1', 0))"


@pytest.mark.parametrize("whole", [False, True], ids=["the-door", "every-module"])
def test_importing_opens_nothing_and_stays_light(project: Project, whole: bool) -> None:
    opened, threads, packages = probe(library(project) if whole else ["graveler_core"])
    assert not [event for event in opened if not event.endswith(HARMLESS)]
    assert threads == 1
    assert not packages & HEAVY


def test_importing_the_store_in_bigtable_opens_nothing(project: Project) -> None:
    modules = [source.module for source in project.sources("graveler_core")]
    opened, threads, packages = probe([name for name in modules if name.startswith(BIGTABLE)])
    assert not [event for event in opened if not event.endswith(HARMLESS)]
    assert threads == 1
    assert packages & HEAVY == {"grpc"}


@pytest.mark.parametrize(
    ("module", "expected"),
    [("opens_a_file", "open "), ("connects", "sqlite3.connect"), ("starts", "subprocess.Popen")],
)
def test_the_probe_sees_what_it_looks_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, expected: str
) -> None:
    bodies = {
        "opens_a_file": f"open({str(tmp_path / 'x')!r}, 'w').close()",
        "connects": f"import sqlite3; sqlite3.connect({str(tmp_path / 'x.db')!r}).close()",
        "starts": "import subprocess; subprocess.run(['true'], check=True)",
    }
    (tmp_path / f"{module}.py").write_text(bodies[module], "utf-8")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    opened, _, _ = probe([module])
    assert any(event.startswith(expected) for event in opened)
