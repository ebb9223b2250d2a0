"""Verbs with `--cluster spark`: their JSON documents and exit codes, and the programs of `jobs` that call them."""

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
from graveler_core.cli.app import FAILED, run
from graveler_core.facade.graveler import Graveler

ROOT = Path(__file__).parents[3]
MAIN = "graveler://lake/main"


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
    """A command that ran in this process."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.err = code, err
        self.document: dict[str, Any] = json.loads(out.splitlines()[-1]) if out else {}


@pytest.fixture
def ran(store: str, graveler: Graveler, capfd: pytest.CaptureFixture[str]) -> Any:
    def call(verb: str, *arguments: str) -> Ran:
        capfd.readouterr()
        code = run([verb, *arguments, "--cluster", "spark", "--json", "--store", store])
        return Ran(code, *capfd.readouterr())

    yield call
    graveler.close()


def test_a_commit_is_made_once_by_its_key(ran: Any, graveler: Graveler) -> None:
    arguments = (MAIN, "-m", "One", "--meta", "job=nightly", "--committer", "spark", "--idempotency-key", "run/step")
    first = ran("commit", *arguments)
    head = graveler.repository("lake").commit("main")
    assert first.code == 0
    assert (head.id, head.committer, head.metadata["job"]) == (first.document["id"], "spark", "nightly")
    assert first.document["verb"] == "commit"
    assert first.document["engine"] == "local"
    graveler.repository("lake").branch("main").put("b", b"2")
    assert ran("commit", *arguments).document["id"] == head.id


def test_merge_diff_and_compact(ran: Any, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    lake.branch("main").commit("One")
    dev = lake.create_branch("dev", source="main")
    dev.put("b", b"2")
    compacted = ran("compact", "graveler://lake/dev")
    assert (compacted.code, compacted.document["records"]) == (0, 1)
    dev.commit("Two")
    differs = ran("diff", "graveler://lake/main..dev", "--stat")
    assert [differs.document[name] for name in ("added", "changed", "removed")] == [1, 0, 0]
    merged = ran("merge", "graveler://lake/dev", MAIN, "-m", "Both", "--idempotency-key", "run/step")
    assert merged.code == 0
    assert lake.commit("main").id == merged.document["id"]
    assert [entry.path for entry in lake.at("main").list()] == ["a", "b"]
    dev.put("c", b"3")
    dev.commit("Three")
    again = ran("merge", "graveler://lake/dev", MAIN, "-m", "Both", "--idempotency-key", "run/step")
    assert again.document["id"] == merged.document["id"]


def test_an_import_is_made_once_by_its_key(ran: Any, graveler: Graveler, tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "x").write_bytes(b"1")
    source = (tmp_path / "raw").as_uri()
    arguments = (source, f"{MAIN}/in", "--idempotency-key", "run/step")
    first = ran("import", *arguments)
    head = graveler.repository("lake").commit("main")
    assert (first.code, first.document["id"], first.document["added"]) == (0, head.id, 1)
    (tmp_path / "raw" / "y").write_bytes(b"2")
    assert ran("import", *arguments).document["id"] == head.id
    later = ran("import", source, f"{MAIN}/in", "--mode", "replace", "--exclude", "x")
    assert later.document["objects"] == 1
    assert [entry.path for entry in graveler.repository("lake").at("main@").list()] == ["in/y"]
    inventory = ran("import", source, MAIN, "--inventory", source)
    assert (inventory.code, inventory.document["error"]) == (FAILED, "NotFound")


@pytest.mark.everyday
@pytest.mark.usefixtures("spark")
def test_a_collection(ran: Any, graveler: Graveler) -> None:
    main = graveler.repository("lake").branch("main")
    main.put("a", b"again")
    arguments = ("graveler://lake", "--data", "--grace", "0s", "--alone", "--yes")
    would = ran("gc", *arguments, "--dry-run", "--threshold", "1", "--rows-per-task", "1")
    assert (would.document["verb"], would.document["engine"], would.document["condemned"]) == ("gc", "spark", 1)
    done = ran("gc", *arguments)
    assert (done.document["engine"], done.document["deleted"], main.read("a")) == ("local", 1, b"again")
    refused = ran("gc", "graveler://lake")
    assert refused.document["message"].startswith("--cluster needs --data")


def test_errors_are_one_line_and_a_document(ran: Any) -> None:
    made = ran("commit", "graveler://lake/other", "-m", "One")
    assert made.code == FAILED
    assert made.err.startswith("error: ")
    assert made.err.count("\n") == 1
    assert (made.document["error"], made.document["kind"]) == ("NotFound", "BranchNotFound")
    told = ran("commit", MAIN, "-m", "One", "--meta", "nothing")
    assert told.err == "error: metadata 'nothing': must be KEY=VALUE with a key\n"


def test_conflicts_are_listed(ran: Any, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    lake.branch("main").commit("One")
    for name in ("left", "right"):
        branch = lake.create_branch(name, source="main")
        branch.put("a", name.encode())
        branch.commit(name)
    made = ran("merge", "graveler://lake/left", "graveler://lake/right")
    assert made.code == FAILED
    assert made.document["conflicts"] == [{"path": "a", "kind": "changed in both"}]


def test_a_store_in_memory_is_one_clear_error(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["commit", MAIN, "-m", "x", "--store", "memory://", "--cluster", "spark"]) == FAILED
    assert "exists in one process" in capfd.readouterr().err


def test_people_are_told_in_text(store: str, graveler: Graveler, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["commit", MAIN, "-m", "One", "--store", store, "--cluster", "spark"]) == 0
    assert capfd.readouterr().out.startswith("committed ")
    graveler.close()


def test_what_runs_in_this_process_alone_is_refused_on_a_cluster(ran: Any) -> None:
    listed = ran("diff", "graveler://lake/main..main")
    assert (listed.code, listed.document["message"].split(":")[0]) == (FAILED, "--cluster")
    foreseen = ran("merge", MAIN, MAIN, "--dry-run")
    assert (foreseen.code, foreseen.document["message"].split(":")[0]) == (FAILED, "--dry-run")


def test_settings_reach_the_cluster(ran: Any) -> None:
    refused = ran("commit", MAIN, "-m", "One", "--rows-per-task", "0", "--threshold", "7")
    assert refused.document["message"].endswith("they are 0 and 7")


def test_a_store_option_without_a_key_shows_no_secret(ran: Any) -> None:
    refused = ran("commit", MAIN, "-m", "One", "--storage-option", "=secret")
    assert refused.err == "error: storage option '': must be KEY=VALUE with a key\n"


@pytest.mark.ci
@pytest.mark.parametrize("name", ["collect", "commit", "merge", "diff", "compact", "importing", "stage"])
def test_each_is_a_program(name: str) -> None:
    ran = subprocess.run(
        [sys.executable, ROOT / "jobs" / f"{name}.py", "--help"],
        check=True,
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT)},
    )
    verb = {"importing": "import", "collect": "gc"}.get(name, name)
    assert f"graveler {verb} [OPTIONS]" in ran.stdout


@pytest.mark.slow
def test_spark_submit_runs_it_on_spark(store: str, graveler: Graveler) -> None:
    lake = graveler.repository("lake")
    paths = [f"{number:05}" for number in range(2_999)]  # with the path that is staged already, three tasks of 1,000
    lake.branch("main").stage_many(
        pa.table({"key": paths, "address": paths, "size": [1] * len(paths), "checksum": paths}),
    )
    submit = [Path(sys.executable).with_name("spark-submit"), "--master", "local[2,3]"]
    submit += ["--conf", "spark.driver.host=localhost", "--conf", "spark.driver.bindAddress=127.0.0.1"]
    submit += [ROOT / "jobs" / "commit.py", MAIN, "--store", store, "-m", "Many"]
    submit += ["--threshold", "1000", "--rows-per-task", "1000", "--start-cluster"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ran = subprocess.run(submit, check=True, capture_output=True, text=True, env=environment)
    document = json.loads(ran.stdout.splitlines()[-1])
    assert (document["engine"], document["tasks"]) == ("spark", 3)
    assert document["id"] == lake.commit("main").id
    assert "tasks of applying" in ran.stdout  # Spark makes one stream of a program's two
    graveler.close()
