"""Progress of Spark's jobs while they run, and their end when nobody waits any more."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from tests.graveler.spark import toy_work


@pytest.fixture
def cluster(spark: SparkSession, tmp_path: Path) -> SparkCluster:
    connection = Connection(f"sqlite:///{tmp_path}/meta.db")
    connection.connect().close()
    return SparkCluster(spark, connection)


def test_progress_comes_while_tasks_run(cluster: SparkCluster, tmp_path: Path) -> None:
    """The last item waits until the driver has told of the others."""
    told = tmp_path / "told"
    said: list[str] = []

    def say(line: str) -> None:
        said.append(line)
        if line.endswith("3 of 4 tasks of waiting for"):
            told.touch()

    cluster.report.begin(say)
    assert list(cluster.map(partial(toy_work.waiting_for, str(told)), range(4))) == [0, 1, 2, 3]
    assert said[-1] == "4 of 4 tasks of waiting for"


def test_an_interrupt_cancels_the_jobs(cluster: SparkCluster, spark: SparkSession, tmp_path: Path) -> None:
    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    cluster.report.begin(interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(cluster.map(partial(toy_work.waiting_for, str(tmp_path / "never")), range(4)))
    assert spark.sparkContext.statusTracker().getActiveJobsIds() == []


def test_without_adaptive_execution_it_does_not_speak_too_soon(cluster: SparkCluster, spark: SparkSession) -> None:
    said: list[str] = []
    cluster.report.begin(said.append)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        assert list(cluster.map(toy_work.doubled, range(3))) == [0, 2, 4]
        said.clear()
        with pytest.raises(Exception, match="ArithmeticError: item 1"):
            list(cluster.map(toy_work.broken, [1]))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    assert "1 of 1 task of broken" not in said
