"""Acknowledged writes survive other processes, kill -9, and the libraries that share the process.

A second copy of SQLite in a process that opens the same file drops the first copy's POSIX locks: from then on two
processes write at once and commits that were reported are gone. Nothing shows it at the time. So the first test counts
the copies that are loaded; the others are what would fail if the locks did not hold.
"""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from graveler_core.kv import open_store

pytestmark = pytest.mark.ci

LOADED = """
import importlib, mmap, pkgutil, re, sys
from importlib.metadata import packages_distributions, requires

import graveler_core
from graveler_core.kv import open_store

ours = [found.name for found in pkgutil.walk_packages(graveler_core.__path__, "graveler_core.")]
for name in ours:
    if not name.startswith(("graveler_core.testing", "graveler_core.cli")):
        importlib.import_module(name)
wanted = {re.split(r"[^A-Za-z0-9_.-]", need)[0].lower() for need in requires("graveler") if "extra ==" not in need}
for module, distributions in packages_distributions().items():
    if wanted & {name.lower() for name in distributions} and module.isidentifier() and module[0] != "_":
        importlib.import_module(module)
# Dagster and Spark share the process where pipelines run.
for module in ("pyarrow.dataset", "pyarrow.parquet", "sqlalchemy.dialects.sqlite", "dagster", "pandas", "pyspark.sql"):
    importlib.import_module(module)

store = open_store(f"sqlite:///{sys.argv[1]}")
store.set(b"p", b"k", b"v")
if len(sys.argv) > 2:
    planted = open(sys.argv[2], "r+b")
    planted = mmap.mmap(planted.fileno(), 0, prot=mmap.PROT_READ | mmap.PROT_EXEC)

with open("/proc/self/maps") as maps:
    lines = [line.split(maxsplit=5) for line in maps]
libraries = {line[5].strip() for line in lines if len(line) == 6 and "x" in line[1] and line[5].startswith("/")}
for path in sorted(libraries):
    with open(path, "rb") as file:
        # Every copy of SQLite holds the first sixteen bytes of a database file.
        if b"SQLite format 3\\0" in file.read():
            print(path)
"""

WRITER = """
import sys
from graveler_core.errors import PredicateFailed
from graveler_core.kv import open_store

store = open_store(sys.argv[1])
for number in range(int(sys.argv[3])):
    while True:
        found = store.get(b"p", b"counter")
        value = b"%d" % (int(found.value) + 1 if found else 1)
        try:
            store.set_if(b"p", b"counter", value, found and found.predicate)
            break
        except PredicateFailed:
            continue
    store.set(b"p", b"%s/%06d" % (sys.argv[2].encode(), number), b"v")
    print(number, flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> list[str]:
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0
    return output.split()


def test_one_copy_of_sqlite_is_loaded(tmp_path: Path) -> None:
    assert len(finish(start(LOADED, tmp_path / "kv.db"))) == 1


def test_a_second_copy_would_be_seen(tmp_path: Path) -> None:
    planted = tmp_path / "libother.so"
    planted.write_bytes(b"\x7fELF" + b"\0" * 5_000 + b"SQLite format 3\0" + b"\0" * 5_000)
    assert str(planted) in finish(start(LOADED, tmp_path / "kv.db", planted))


@pytest.mark.parametrize("durability", ["power", "process"])
def test_processes_lose_none_of_each_others_writes(tmp_path: Path, durability: str) -> None:
    """They also make the file together: none of them finds it there."""
    url, writers, writes = f"sqlite:///{tmp_path}/kv.db?durability={durability}", 5, 60
    for process in [start(WRITER, url, name, writes) for name in range(writers)]:
        assert len(finish(process)) == writes
    store = open_store(url)
    rows = {row.key: row.value for row in store.scan(b"p")}
    store.close()
    assert rows.pop(b"counter") == b"%d" % (writers * writes)
    assert sorted(rows) == [b"%d/%06d" % (name, number) for name in range(writers) for number in range(writes)]
    assert intact(tmp_path / "kv.db")


@pytest.mark.parametrize("durability", ["power", "process"])
def test_what_was_acknowledged_survives_kill_9(tmp_path: Path, durability: str) -> None:
    url = f"sqlite:///{tmp_path}/kv.db?durability={durability}"
    survivor, victim = start(WRITER, url, "survivor", 100), start(WRITER, url, "victim", 1_000_000)
    assert victim.stdout is not None
    acknowledged = [int(victim.stdout.readline()) for _ in range(100)]
    victim.send_signal(signal.SIGKILL)
    rest, _ = victim.communicate()
    # A last line without its end is a number that was cut off.
    acknowledged += [int(line) for line in rest.splitlines(keepends=True) if line.endswith("\n")]
    assert len(finish(survivor)) == 100
    store = open_store(url)
    for number in acknowledged:
        assert store.get(b"p", b"victim/%06d" % number) is not None
    counter = store.get(b"p", b"counter")
    assert counter is not None
    assert int(counter.value) - (100 + len(acknowledged)) in {0, 1, 2}
    store.close()
    assert intact(tmp_path / "kv.db")


def intact(path: Path) -> bool:
    """Checked by this process's one SQLite, when no store of it is open."""
    connection = sqlite3.connect(path)
    answer = connection.execute("PRAGMA integrity_check").fetchall()
    connection.close()
    return answer == [("ok",)]
