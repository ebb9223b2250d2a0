"""`./run demo` as a user runs it: in a directory of its own, twice; and the README, in the same directory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from graveler_core import connect
from orchestration.local import Installation
from tests.docs import readme

pytestmark = pytest.mark.ci


def tell(directory: Path, *arguments: str) -> str:
    program = [sys.executable, "-P", "-m", "orchestration.demo", *arguments]
    ran = subprocess.run(program, cwd=directory, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def test_it_works_and_works_again(tmp_path: Path, programs: Path) -> None:
    first = tell(tmp_path, "--months", "2")
    assert "Publish: Flights of 2013-01" in first
    assert "Publish: Flights of 2013-02" in first
    assert "added    raw_flights/flight_month=2013-02/part-00000.parquet" in first
    assert "✗ check keys_unique of cleaned_flights" in first
    assert "27,004" in first  # flights of January: what main~1 had
    assert "51,955" in first  # and of both months: what main has
    assert "27,004 staged on branch 2013-01 of timetable" in first
    assert [line.split()[1] for line in first.splitlines() if line.endswith("  on Spark")] == ["commit", "merge"]
    assert "Spark from 10,000 changes on, for these two; elsewhere from 5,000,000." in first
    assert "incoming/airlines.csv" in first
    assert "./run ui" in first
    readme.run_examples(programs / "python", tmp_path)  # in its order, where the demo has run

    second = tell(tmp_path, "--months", "2", "--spark-from", "1")
    assert "edition 4" in second
    merged = [line for line in second.splitlines() if "flights__main.publish" in line]
    assert [(line.split()[2:4], line.split()[-2:]) for line in merged] == [(["3", "changes"], ["on", "Spark"])]
    assert "changed  raw_flights/" in second
    assert "raw_weather" not in second.split("diff main~1 main")[1].split("Time travel")[0]  # equal rows: no change
    assert [path.name for path in tmp_path.iterdir()] == [".graveler"]

    with connect(Installation(tmp_path / ".graveler").store) as graveler:
        repository = graveler.repository("flights")
        messages = [commit.message for commit in repository.log("main", first_parent=True)]
        assert messages[1:] == [
            "What was delivered",
            "Flights of 2013-02",
            "Flights of 2013-01",
            "Repository created",
        ]
        kept = [branch.id for branch in repository.branches() if branch.id != "main"]
        assert len(kept) == 2
        assert all(any(True for _ in repository.branch(name).uncommitted()) for name in kept)
    readme.run_sentences(programs / "python", tmp_path)


@pytest.mark.parametrize(("name", "value"), [("--months", "13"), ("--spark-from", "-1")])
def test_a_wrong_argument_is_one_clear_line(tmp_path: Path, name: str, value: str) -> None:
    program = [sys.executable, "-P", "-m", "orchestration.demo", name, value]
    ran = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 2
    assert name in ran.stderr
    assert not list(tmp_path.iterdir())
