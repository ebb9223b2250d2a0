"""The engine's flows through Spark: the trees, the operations and the contents that it makes alone, and one commit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

import pytest
from pyspark.sql import SparkSession

from graveler_core.errors import Conflict
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.stores import Cluster, Stores
from tests.graveler.spark import toy_work
from tests.graveler.spark.engines import Engines, table

ROWS = 60_000
"""Some ranges."""
T = TypeVar("T")
U = TypeVar("U")


@pytest.fixture
def engines(spark: SparkSession, tmp_path: Path) -> Iterator[Engines]:
    made = Engines(spark, tmp_path)
    yield made
    made.stores.close()


def staged(branch: Branch, chance: random.Random, rows: int = ROWS) -> None:
    """Many rows in bulk, some of them new; some removed one by one; a prefix at times."""
    version = chance.getrandbits(32)
    numbers = chance.sample(range(2 * ROWS), rows)
    branch.stage_many(table(numbers, version))
    if chance.random() < 0.5:
        branch.remove_prefix(f"{chance.randrange(7)}/")
    removed = chance.sample(range(2 * ROWS), 1_500)
    branch.remove_many([f"{number % 7}/{number:09}" for number in removed])


def committed(repository: Repository, chance: random.Random) -> None:
    staged(repository.branch("main"), chance)
    repository.branch("main").commit("Some")


class Killing:
    """A cluster whose workers die once at each item, when the work is done and not yet handed back."""

    def __init__(self, cluster: Cluster, marks: Path) -> None:
        self.cluster, self.marks = cluster, marks

    def tasks(self, rows: int) -> int:
        return self.cluster.tasks(rows)

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        marks = self.marks / uuid.uuid4().hex
        marks.mkdir()
        yield from self.cluster.map(partial(toy_work.killed_once, str(marks), work), [*enumerate(items)])


def test_workers_that_die_give_one_commit(engines: Engines, tmp_path: Path) -> None:
    assert engines.spark._stores.cluster is not None
    killing = Graveler(replace(engines.spark._stores, cluster=Killing(engines.spark._stores.cluster, tmp_path)))
    committed(engines.alone, random.Random(6))
    committed(killing.repository("spark"), random.Random(6))
    engines.assert_equal("main")
    assert len(list(engines.spark.log("main"))) == 2
    assert len([*tmp_path.glob("*/killed-*")]) >= 2
    assert [*engines.spark.fsck(deep=True)] == [*engines.alone.fsck(deep=True)] == []


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.everyday), 2])
def test_commits_are_those_of_the_engine_alone(engines: Engines, seed: int) -> None:
    """On an empty branch, and on ranges that are there."""
    for step in range(2):
        engines.report.begin()
        engines.both(committed, seed + step)
        assert engines.report.engine == "spark"
        engines.assert_equal("main")


def test_merges_are_those_of_the_engine_alone(engines: Engines) -> None:
    def merged(repository: Repository, chance: random.Random) -> None:
        committed(repository, chance)
        dev = repository.create_branch("dev", source="main")
        staged(dev, chance)
        dev.commit("There")
        staged(repository.branch("main"), chance, 500)
        repository.branch("main").commit("Here")
        engines.report.begin()
        repository.merge("dev", "main", strategy="source")

    engines.both(merged, 3)
    assert engines.report.engine == "spark"
    engines.assert_equal("main")


def test_differences_are_those_of_the_engine_alone(engines: Engines) -> None:
    for seed in (9, 10):
        engines.both(committed, seed)
    engines.report.begin()
    for prefix in ("3/", ""):
        counted = engines.spark.diff_summary("main~1", "main", prefix)
        assert counted == engines.alone.diff_summary("main~1", "main", prefix)
        assert counted.total > 1_000
    assert engines.report.engine == "spark"


def test_conflicts_are_those_of_the_engine_alone(engines: Engines) -> None:
    def conflicting(repository: Repository, chance: random.Random) -> tuple[int, list[str]]:
        committed(repository, chance)
        dev = repository.create_branch("dev", source="main")
        staged(dev, chance)
        dev.commit("There")
        staged(repository.branch("main"), chance)
        repository.branch("main").commit("Here")
        with pytest.raises(Conflict) as raised:
            repository.merge("dev", "main")
        return raised.value.details["count"], [c.path for c in raised.value.details["conflicts"]]

    alone, spark = (conflicting(repository, random.Random(4)) for repository in (engines.alone, engines.spark))
    assert spark == alone
    assert alone[0] > 1_000


def test_compactions_are_those_of_the_engine_alone(engines: Engines) -> None:
    def compacted(repository: Repository, chance: random.Random) -> None:
        committed(repository, chance)
        staged(repository.branch("main"), chance)
        engines.report.begin()
        repository.branch("main").compact()

    engines.both(compacted, 5)
    assert engines.report.engine == "spark"
    for repository in (engines.alone, engines.spark):
        repository.branch("main").commit("Compacted")
    engines.assert_equal("main")


@pytest.mark.slow
def test_two_million_entries_in_a_small_heap(tmp_path: Path) -> None:
    root = Path(__file__).parents[3]
    command = [sys.executable, "-m", "tests.graveler.spark.large_commit", str(tmp_path), "2000000"]
    ran = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    found = json.loads(ran.stdout)
    assert found["spark"] == found["alone"]
    assert (found["engine"], found["tasks"] >= 10) == ("spark", True)
