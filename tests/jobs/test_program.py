"""The verbs as programs: what they print, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from jobs.commit import COMMIT
from jobs.compact import COMPACT
from jobs.diff import DIFF
from jobs.importing import IMPORT
from jobs.merge import MERGE
from jobs.program import FAILED, Program, run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/meta.db"


@pytest.fixture
def graveler(store: str, tmp_path: Path) -> Graveler:
    """One repository, with a path staged on its branch."""
    opened = connect(store)
    opened.create_repository("lake", (tmp_path / "lake").as_uri()).branch("main").put("a", b"1")
    return opened


class Ran:
    """A program that ran in this process."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.err = code, err
        self.document: dict[str, Any] = json.loads(out) if out else {}


@pytest.fixture
def ran(store: str, graveler: Graveler, capfd: pytest.CaptureFixture[str]) -> Any:
    def call(program: Program, *arguments: str) -> Ran:
        capfd.readouterr()
        code = run(program, ["--store", store, "--repository", "lake", *arguments])
        return Ran(code, *capfd.readouterr())

    yield call
    graveler.close()


def test_a_commit_is_made_once_by_its_key(ran: Any, graveler: Graveler) -> None:
    arguments = ("--branch", "main", "-m", "One", "--meta", "job=nightly", "--idempotency-key", "run/step")
    first = ran(COMMIT, *arguments)
    head = graveler.repository("lake").commit("main")
    assert first.code == 0
    assert (head.id, head.committer, head.metadata["job"]) == (first.document["id"], "spark", "nightly")
    assert first.document["verb"] == "commit"
    assert first.document["engine"] == "local"
    graveler.repository("lake").branch("main").put("b", b"2")
    assert ran(COMMIT, *arguments).document["id"] == head.id


def test_merge_diff_and_compact(ran: Any, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    lake.branch("main").commit("One")
    dev = lake.create_branch("dev", source="main")
    dev.put("b", b"2")
    compacted = ran(COMPACT, "--branch", "dev")
    assert (compacted.code, compacted.document["records"]) == (0, 1)
    dev.commit("Two")
    differs = ran(DIFF, "--left", "main", "--right", "dev")
    assert [differs.document[name] for name in ("added", "changed", "removed")] == [1, 0, 0]
    merged = ran(MERGE, "--source", "dev", "--into", "main", "-m", "Both")
    assert merged.code == 0
    assert lake.commit("main").id == merged.document["id"]
    assert [entry.path for entry in lake.at("main").list()] == ["a", "b"]


def test_an_import_is_made_once_by_its_key(ran: Any, graveler: Graveler, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "x").write_bytes(b"1")
    source = (tmp_path / "raw").as_uri()
    arguments = ("--source", source, "--branch", "main", "--destination", "in", "--idempotency-key", "run/step")
    first = ran(IMPORT, *arguments)
    head = graveler.repository("lake").commit("main")
    assert (first.code, first.document["id"], first.document["added"]) == (0, head.id, 1)
    (tmp_path / "raw" / "y").write_bytes(b"2")
    assert ran(IMPORT, *arguments).document["id"] == head.id
    later = ran(
        IMPORT, "--source", source, "--branch", "main", "--destination", "in", "--mode", "replace", "--exclude", "x"
    )
    assert later.document["objects"] == 1
    assert [entry.path for entry in graveler.repository("lake").at("main@").list()] == ["in/y"]
    inventory = ran(IMPORT, "--source", source, "--branch", "main", "--inventory", source)
    assert (inventory.code, inventory.document["error"]) == (FAILED, "NotFound")


def test_errors_are_one_line_and_a_document(ran: Any) -> None:
    made = ran(COMMIT, "--branch", "other", "-m", "One")
    assert made.code == FAILED
    assert made.err.startswith("error: ")
    assert made.err.count("\n") == 1
    assert (made.document["error"], made.document["kind"]) == ("NotFound", "BranchNotFound")
    told = ran(COMMIT, "--branch", "main", "-m", "One", "--meta", "nothing")
    assert told.err == "error: metadata 'nothing': must be KEY=VALUE with a key\n"


def test_conflicts_are_listed(ran: Any, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    lake.branch("main").commit("One")
    for name in ("left", "right"):
        branch = lake.create_branch(name, source="main")
        branch.put("a", name.encode())
        branch.commit(name)
    made = ran(MERGE, "--source", "left", "--into", "right")
    assert made.code == FAILED
    assert made.document["conflicts"] == [{"path": "a", "kind": "changed in both"}]


def test_a_store_in_memory_is_one_clear_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(COMMIT, ["--store", "memory://", "--repository", "lake", "--branch", "main", "-m", "x"]) == FAILED
    assert "exists in one process" in capfd.readouterr().err


def test_wrong_usage_ends_with_two() -> None:
    with pytest.raises(SystemExit) as ended:
        run(COMMIT, ["--branch", "main"])
    assert ended.value.code == 2


@pytest.mark.parametrize("name", ["commit", "merge", "diff", "compact", "stage"])
def test_each_is_a_program(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "jobs" / f"{name}.py", "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    assert f"usage: jobs.{name}" in ran.stdout


@pytest.mark.slow
def test_spark_submit_runs_it_on_spark(store: str, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    paths = [f"{number:05}" for number in range(2_999)]  # with the path that is staged already, three pieces of 1,000
    lake.branch("main").stage_many(
        pa.table({"key": paths, "address": paths, "size": [1] * len(paths), "checksum": paths}),
    )
    submit = [Path(sys.executable).with_name("spark-submit"), "--master", "local[2,3]"]
    submit += ["--conf", "spark.driver.host=localhost", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    submit += [ROOT / "jobs" / "commit.py", "--store", store, "--repository", "lake", "--branch", "main", "-m", "Many"]
    submit += ["--threshold", "1000", "--rows-per-piece", "1000", "--start-spark"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(submit, check=True, capture_output=True, text=True, env=environment)
    document = json.loads(ran.stdout.splitlines()[-1])
    assert (document["engine"], document["pieces"]) == ("spark", 3)
    assert document["id"] == lake.commit("main").id
    assert "pieces of applying" in ran.stdout  # Spark makes one stream of a program's two
    graveler.close()
