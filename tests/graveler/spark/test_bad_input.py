"""Tests of wrong input for Spark: one clear error before anything changes. Also a branch that moves meanwhile."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark.sql import SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.source import graveler_read, register
from graveler_core import connect
from graveler_core.errors import InvalidInput, Unavailable
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put
from graveler_core.stores import Cluster, Stores
from graveler_core.stores.turns import Turns
from tests.graveler.spark.engines import Engines, table
from tests.s3_server import own_s3

T = TypeVar("T")
U = TypeVar("U")
ROWS = 20_000


class Stopped:
    """A session of which everything says what a stopped one says."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError("Cannot call methods on a stopped SparkContext.")


class Meanwhile:
    """A cluster whose work takes so long that others get something done, once."""

    def __init__(self, cluster: Cluster, work: Callable[[], object]) -> None:
        self.cluster, self.work = cluster, [work]

    def tasks(self, rows: int) -> int:
        return self.cluster.tasks(rows)

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        done = list(self.cluster.map(work, items))
        if self.work:
            self.work.pop()()
        return iter(done)


@pytest.fixture
def repo(tmp_path: Path) -> Iterator[Repository]:
    with connect(f"sqlite:///{tmp_path / 'meta.db'}?durability=process") as graveler:
        yield graveler.create_repository("lake", (tmp_path / "lake").as_uri())


def options(tmp_path: Path, **more: str) -> dict[str, str]:
    return {"store": f"sqlite:///{tmp_path / 'meta.db'}?durability=process", "repository": "lake", **more}


def test_no_session(repo: Repository, tmp_path: Path) -> None:
    repo.branch("main").put("t/a.csv", b"1\n")
    none: Any = None
    connection = Connection(options(tmp_path)["store"])
    for call in (
        lambda: register(none),
        lambda: graveler_read(none, repo, "main", "t", "csv"),
        lambda: list(SparkCluster(lambda: none, connection).map(len, [1])),  # type: ignore[arg-type]
    ):
        with pytest.raises(InvalidInput, match="no Spark session: pass one, for example SparkSession"):
            call()


def test_a_stopped_session(repo: Repository) -> None:
    repo.branch("main").put("t/a.csv", b"1\n")
    stopped: Any = Stopped()
    for call in (lambda: register(stopped), lambda: graveler_read(stopped, repo, "main", "t", "csv")):
        with pytest.raises(Unavailable, match="the Spark session is stopped, or there is none: create one"):
            call()


def test_a_namespace_whose_files_are_gone(spark: SparkSession, repo: Repository, tmp_path: Path) -> None:
    register(spark)
    repo.branch("main").stage_many(table(list(range(ROWS)), 1))
    repo.branch("main").commit("Many")
    (tmp_path / "lake").rename(tmp_path / "moved")  # in one step: the library may be removing a staged run just now
    with pytest.raises(Exception, match=r"CorruptData: .*missing"):
        spark.read.format("graveler").options(**options(tmp_path)).load().count()


def test_a_namespace_that_cannot_be_reached(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A store that is away, and one for which Spark has no file system: told by what it is, without the secret."""
    register(spark)
    with own_s3() as s3, connect(options(tmp_path)["store"], storage_options=s3.options) as graveler:
        place = f"s3://{s3.make_bucket('lake-that-goes-away')}/lake"
        given = options(tmp_path, **{f"storage.{name}": value for name, value in s3.options.items()})
        repo = graveler.create_repository("lake", place)
        repo.branch("main").stage_many(table(list(range(ROWS)), 1))
        repo.branch("main").commit("Many")
        repo.branch("main").put("t/a.csv", b"1\n")
        with pytest.raises(Unavailable, match="Spark has no file system for the objects of this storage namespace"):
            graveler_read(spark, repo, "main", "t", "csv")
    with pytest.raises(Exception, match=r"Unavailable: .*s3://lake-that-goes-away/lake") as told:
        spark.read.format("graveler").options(**given).load().count()
    assert "canary-secret" not in str(told.value) + capsys.readouterr().err


def test_a_branch_that_moves_while_workers_work(spark: SparkSession, tmp_path: Path) -> None:
    """Others commit between plan and swap: ours is planned anew, on their commit. They do not wait for their turn."""
    engines = Engines(spark, tmp_path, rows_per_task=5_000, threshold=10_000)
    assert engines.spark._stores.cluster is not None
    theirs = Entry(address="data/theirs", size=6, checksum="theirs")

    def others() -> None:
        engines.alone.branch("main").transact([Put("z/theirs", theirs)], message="Theirs")

    cluster = Meanwhile(engines.spark._stores.cluster, others)
    ours = Graveler(replace(engines.stores, cluster=cluster, turns=Turns())).repository("alone").branch("main")
    ours.stage_many(table(random.Random(2).sample(range(2 * ROWS), ROWS), 2))
    ours.commit("Ours")
    assert engines.report.engine == "spark"
    assert [commit.message for commit in engines.alone.log("main")] == ["Ours", "Theirs", "Repository created"]
    assert engines.alone.at("main").get("z/theirs").checksum == "theirs"
    assert sum(1 for _ in engines.alone.at("main").list()) == ROWS + 1
    assert [finding for finding in engines.alone.fsck(deep=True) if finding.damage] == []
    engines.stores.close()
