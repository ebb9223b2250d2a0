"""Every scenario of every suite runs and gives its rows, at a size at which nothing is measured."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.command import SUITES
from benchmarks.content_generator import long_key, short_key
from benchmarks.peers import reference
from benchmarks.run import BenchmarkRequest, rows
from benchmarks.scenario import suite
from benchmarks.worker import performed

SIZES = {
    "core": 2_000,
    "protocol": 100,
    "committed": 20,
    "compaction": 20,
    "imports": 2_000,
    "lifecycle": 20,
    "iam": 20,
    "files": 20,
    "simulation": 20,
    "stores": 20,
    "content_generator": 20,
    "endurance": 1,
    "server": 20,
}
SIZE = SIZES["core"]
ON_SPARK = (
    "commit",
    "commit_among",
    "commit_rows",
    "compact",
    "diff",
    "merge",
    "read_content",
    "read_entries",
    "start",
)
"""Scenarios on Spark that only the longest tier runs. Their modules are imported by the tests that use them."""
IN_FILES = ("collect_by_inventory",)
"""Scenarios that need a local directory."""
SIZE_ON_SPARK = {"diff": 100_000}
"""Fewer are one range, which no cut divides: the driver counts them by itself."""


def test_every_suite_has_its_test() -> None:
    assert {*SIZES, "spark"} == set(SUITES)
    assert {*ON_SPARK, "plan"} == set(suite("spark"))


@pytest.mark.ci
@pytest.mark.parametrize("name", SIZES)
def test_each_scenario_gives_rows(name: str, tmp_path: Path) -> None:
    """In memory, all in this process: the tests below start processes as the command does."""
    scenarios = [scenario for scenario in suite(name).values() if scenario.name not in IN_FILES]
    request = BenchmarkRequest(name, scenarios, "memory", ["-"], [SIZES[name]], 1, tmp_path, commits=5)
    said: list[str] = []
    found = list(rows(request, said.append, performed))
    assert len(said) == len(scenarios)
    assert {row.scenario for row in found} == {scenario.name for scenario in scenarios}
    assert len({(row.scenario, row.name, row.unit) for row in found}) == len(found)
    for row in found:
        assert (row.suite, row.size, row.store, row.durability) == (name, SIZES[name], "memory", "-")
        assert row.least <= row.median <= row.most
        assert row.least >= 0 or row.unit == "exponent"
        assert row.unit != "calls" or row.most == 0, "no call fails"
        assert row.repeats > 0
        assert row.peak_mib > 1
        assert json.loads(row.line())["name"] == row.name


@pytest.mark.ci
@pytest.mark.parametrize("name", ["plan", *(pytest.param(n, marks=pytest.mark.slow) for n in ON_SPARK)])
def test_each_scenario_on_spark_gives_rows(name: str, tmp_path: Path) -> None:
    """On one master: who takes part is told of one by one, and everybody finds the same, or there are no rows."""
    scenarios = [suite("spark")[name]]
    namespace, size = (tmp_path / "objects").as_uri(), SIZE_ON_SPARK.get(name, 3_000)
    request = BenchmarkRequest(
        "spark", scenarios, "sqlite", ["process"], [size], 1, tmp_path, namespace=namespace, cluster="local[2]"
    )
    found = list(rows(request, lambda text: None))
    assert len({(row.name, row.unit) for row in found}) == len(found)
    assert all(row.most >= row.least >= 0 and row.peak_mib > 1 for row in found)
    assert [*(tmp_path / "objects").iterdir()]
    if name == "plan":
        assert {row.most for row in found if row.unit == "tasks"} == {2}
        return
    roles = {row.name.rpartition(": ")[2] for row in found if row.unit == "CPU s"}
    assert roles >= {"driver", "Java"}
    assert "workers" in roles or name == "read_content", "Spark's own readers need none"
    assert all(row.least > 0 for row in found if "Java" in row.name)
    if name != "start":
        (compared,) = {row.unit for row in found if row.unit.startswith("of ")}
        rates = [row for row in found if row.unit == "per s"]
        assert len(rates) == 1 + sum(row.unit == compared for row in found)


@pytest.mark.ci
@pytest.mark.parametrize("name", IN_FILES)
def test_each_scenario_in_files_gives_rows(name: str, tmp_path: Path) -> None:
    scenarios, size = [suite("lifecycle")[name]], SIZES["lifecycle"]
    request = BenchmarkRequest("lifecycle", scenarios, "sqlite", ["process"], [size], 1, tmp_path, commits=5)
    assert {row.scenario for row in rows(request, lambda text: None)} == {name}


@pytest.mark.ci
@pytest.mark.parametrize(
    ("store", "name", "scenario"),
    [
        pytest.param("sqlite", "protocol", "long_commit", marks=pytest.mark.slow),
        ("postgresql", "protocol", "committers"),
        pytest.param("sqlite", "compaction", "long_compaction_of_rows", marks=pytest.mark.slow),
        ("sqlite", "lifecycle", "delete_beside_a_writer"),
    ],
)
def test_processes_work_together(store: str, name: str, scenario: str, tmp_path: Path) -> None:
    """Each way of working gives the same rows, and no call fails."""
    request = BenchmarkRequest(name, [suite(name)[scenario]], store, ["process"], [SIZES["protocol"]], 1, tmp_path)
    found = list(rows(request, lambda text: None))
    ways = [{row.name.replace(by, "") for row in found if by in row.name} for by in ("threads", "processes")]
    assert ways[0] == ways[1] != set()
    assert {row.store for row in found} == {store}
    assert {row.most for row in found if row.unit == "calls"} == {0}


@pytest.mark.ci
@pytest.mark.parametrize("store", ["sqlite", "postgresql", pytest.param("redis", marks=pytest.mark.slow)])
def test_round_trips_to_servers_are_counted(store: str, tmp_path: Path) -> None:
    """On a socket and on TCP; a get reads the branch and the repository again, so it needs a round trip."""
    request = BenchmarkRequest("stores", [suite("stores")["one_client"]], store, ["power"], [20], 1, tmp_path)
    found = list(rows(request, lambda text: None))
    times = {row.name for row in found if row.unit == "ms"}
    assert "get, committed" in times
    trips = {row.name: row.least for row in found if row.unit == "round trips"}
    assert set(trips) == (set() if store == "sqlite" else times)
    assert all(count > 0 for count in trips.values())


@pytest.mark.slow
def test_a_store_is_copied_beside_a_real_one(tmp_path: Path) -> None:
    """From one file of SQLite to another, and from PostgreSQL to a file."""
    for store in ("sqlite", "postgresql"):
        request = BenchmarkRequest(
            "lifecycle", [suite("lifecycle")["copy_a_store"]], store, ["process"], [50], 1, tmp_path
        )
        found = {row.unit: row for row in rows(request, lambda text: None)}
        assert found["rows"].most > 50


@pytest.mark.ci
def test_the_command_prints_json_lines(tmp_path: Path) -> None:
    """On SQLite and local files, set-up and measurement in processes of their own; nothing is left behind."""
    command = [sys.executable, "-m", "benchmarks", "core", "--json", "--only", "small_commit", "--size", "500"]
    options = ["--durability", "process", "--directory", str(tmp_path)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    found = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert {"commit of 10 random changes", "written by a commit of 10"} < set(found)
    assert {(row["store"], row["durability"], row["size"]) for row in found.values()} == {("sqlite", "process", 500)}
    assert "small_commit, 500 entries, process" in done.stderr
    assert not list(tmp_path.iterdir())


def test_an_unknown_scenario_is_named() -> None:
    command = [sys.executable, "-m", "benchmarks", "core", "--only", "fly"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "'fly'" in done.stderr
    assert "Traceback" not in done.stderr


def test_references_are_for_the_size_they_were_taken_at() -> None:
    assert "lakeFS" in reference("core", "commit, staged one by one", 1_000_000)
    assert reference("core", "commit, staged one by one", SIZE) == ""
    assert "aim" in reference("core", "create branch", SIZE)
    assert "Nessie" in reference("committed", "transact of 1 random change", 0)


def test_keys_of_the_content_generator_are_distinct_and_as_long_as_they_say() -> None:
    chance = random.Random(1)
    short, long = ([key(chance, number) for number in range(200)] for key in (short_key, long_key))
    assert {len(key) for key in short} == {10}
    assert 250 <= min(map(len, long)) <= max(map(len, long)) < 300
    assert len({*short, *long}) == 400
