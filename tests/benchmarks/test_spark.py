"""Tests of the parts of the suite `spark`: the engines that are compared, and the error for different results."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.scenario import Place
from benchmarks.spark.engines import Engine, ResultsDiffer, engines, filled, require_equal, stage_numbers
from benchmarks.spark.processes import DRIVER, spent
from graveler_core.facade.repository import Repository

PLACE = Place("sqlite:///nowhere.db", "file:///data", "bench", 0)


def test_engines_are_the_engine_alone_and_each_master() -> None:
    assert [engine.name for engine in engines(PLACE)] == ["alone", "local[1]", "local[2]"]
    there = Place("sqlite:///nowhere.db", "file:///data", "bench", 0, cluster="spark://host.example:7077")
    assert [engine.name for engine in engines(there)] == ["alone", "spark://host.example:7077"]


def test_each_engine_has_a_repository_of_its_own() -> None:
    masters = ["", "local[1]", "local[2]", "local[*]", "spark://host:7077", "yarn"]
    places = [Engine(master).place(PLACE) for master in masters]
    assert len({place.repository for place in places}) == len({place.data for place in places}) == len(masters)


def test_what_is_staged_is_the_same_for_each_engine(tmp_path: Path) -> None:
    def fill(repo: Repository) -> None:
        stage_numbers(repo.branch("main"), 5, step=2, first=1)
        repo.branch("main").commit("Five")

    place = Place(f"sqlite:///{tmp_path}/meta.db?durability=process", (tmp_path / "data").as_uri(), "bench", 5)
    filled(place, fill)
    with place.connect() as g:
        repos = [engine.place(place).repo(g) for engine in engines(place)]
        assert len({repo.at("main").tree_id() for repo in repos}) == 1
        assert {sum(1 for _ in repo.at("main").list()) for repo in repos} == {5}


def test_a_difference_is_an_error() -> None:
    require_equal("commit", "local[1]", "a tree", "a tree")
    with pytest.raises(ResultsDiffer, match=r"commit: local\[1\] returned another, expected a tree"):
        require_equal("commit", "local[1]", "another", "a tree")


WORK = "import hashlib; hashlib.pbkdf2_hmac('sha256', b'', b'', 1_000_000)"
"""Some tenths of a second."""


def test_a_child_that_has_ended_is_counted_with_its_parent() -> None:
    taken = spent(lambda: subprocess.run([sys.executable, "-c", WORK], check=True))
    assert taken.used[DRIVER].cpu >= 0.1


def test_a_child_that_goes_on_is_not_counted() -> None:
    tell = "import time; print(time.process_time(), flush=True); input()"
    command = [sys.executable, "-c", f"{WORK}; {tell}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        assert child.stdout is not None
        said: list[bytes] = []
        taken = spent(lambda: said.append(child.stdout.readline()))  # type: ignore[union-attr]
        child.kill()
    assert taken.used[DRIVER].cpu < float(said[0]) / 2


def test_the_peak_is_that_of_the_call() -> None:
    before = bytearray(64 << 20)
    before[:: 1 << 12] = b"\1" * len(before[:: 1 << 12])
    size = len(before) / 2**20
    del before
    little = spent(lambda: hashlib.sha256(b"").digest()).used[DRIVER].peak_mib
    much = spent(lambda: b"\1" * (64 << 20)).used[DRIVER].peak_mib
    assert much - little > size / 2
