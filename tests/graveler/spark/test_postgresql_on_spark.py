"""Whole flows through Spark on PostgreSQL: what the engine makes alone, with a session a worker and no more."""

from __future__ import annotations

import os
import random
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from pyspark.sql import SparkSession

from graveler.spark import connection as connections
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection, opened
from graveler_core.engine.importing import on_cluster as spreading
from graveler_core.facade.repository import Repository
from tests.graveler.spark import toy_work
from tests.graveler.spark.engines import Engines, table
from tests.graveler.spark.test_imports_on_spark import inventory

ROWS = 24_000


def sessions(url: str, application: str) -> set[int]:
    """Of a name."""
    asked = "SELECT pid FROM pg_stat_activity WHERE application_name = %s"
    with psycopg.connect(url, autocommit=True) as connection:
        found: list[tuple[Any, ...]] = connection.execute(asked, (application,)).fetchall()
    return {pid for (pid,) in found}


def staged(repository: Repository, branch: str, chance: random.Random, rows: int) -> None:
    """In bulk, and one by one."""
    handle = repository.branch(branch)
    numbers = chance.sample(range(2 * ROWS), rows)
    handle.stage_many(table(numbers, chance.getrandbits(32)))
    handle.remove_many([f"{number % 7}/{number:09}" for number in chance.sample(range(2 * ROWS), 500)])


def test_flows_on_postgresql(
    spark: SparkSession, postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(spreading, "FIRST", 500)
    application = uuid4().hex
    connection = Connection(f"{postgresql_url}&application_name={application}")
    engines = Engines(spark, tmp_path, 6_000, 8_000, connection, url=postgresql_url)
    uri = inventory(tmp_path / "inventory", ROWS)

    def told() -> None:
        assert engines.report.engine == "spark"
        engines.report.begin()

    def flows(repository: Repository, chance: random.Random) -> None:
        on_spark = repository is engines.spark
        main, ask = repository.branch("main"), told if on_spark else int
        engines.report.begin()
        staged(repository, "main", chance, ROWS)
        main.commit("Many")
        ask()
        repository.create_branch("dev", source="main")
        staged(repository, "dev", chance, ROWS // 2)
        repository.branch("dev").commit("There")
        ask()
        staged(repository, "main", chance, ROWS // 2)
        main.compact()
        ask()
        main.commit("Here")
        engines.report.begin()
        repository.merge("dev", "main", strategy="source")
        ask()
        repository.import_inventory(uri, "s3://bucket/raw", "main", "in")
        ask()
        found.append(repository.diff_summary("main~3", "main"))
        ask()

    found: list[Any] = []
    engines.both(flows, 4)
    engines.assert_equal("main")
    assert found[0] == found[1]
    assert found[0].total > ROWS
    assert [finding for finding in engines.spark.fsck(deep=True) if finding.damage] == []
    engines.stores.close()
    left = sessions(postgresql_url, application)  # those of the workers only
    cluster = SparkCluster(spark, connection)
    workers = {process for process, _ in cluster.map(toy_work.head_of_main, ["spark"] * 6)}
    assert os.getpid() not in workers
    assert sessions(postgresql_url, application) >= left
    # Each worker keeps one session. Spark may start another worker before a former one is free again.
    assert 1 <= len(left) <= 2 * spark.sparkContext.defaultParallelism


def test_connections_that_were_not_used_lately_are_closed(
    postgresql_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker lives on from job to job: what it keeps open is bounded."""
    monkeypatch.setattr(connections, "_opened", connections._OpenedStores())
    names = [uuid4().hex for _ in range(6)]
    for name in names:
        stores = opened(Connection(f"{postgresql_url}&application_name={name}"))
        assert stores.kv.get(b"p", b"k") is None
    until_open(postgresql_url, names, [0, 0, 1, 1, 1, 1])
    for stores in connections._opened._stores.values():
        stores.close()
    until_open(postgresql_url, names, [0] * 6)


def until_open(url: str, names: list[str], numbers: list[int]) -> None:
    """Wait for these numbers of sessions. The process of a session ends a moment after its connection is closed."""
    deadline = monotonic() + 60
    while (found := [len(sessions(url, name)) for name in names]) != numbers:
        assert monotonic() < deadline, found
        sleep(0.05)
