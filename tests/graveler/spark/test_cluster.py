"""`SparkCluster` on a real session: order, errors, retries, and stores that workers open themselves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PythonException
from pyspark.sql import SparkSession

from graveler.spark import cluster as module
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.environment_errors import NOT_INSTALLED
from graveler.spark.worker import ITEMS, outcomes
from graveler_core.errors import Conflict, InvalidInput, Kind, Unavailable
from graveler_core.model.entities import RepositoryRecord
from graveler_core.refs.repositories import active
from tests.graveler.spark import toy_work


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    """To a store with one repository, `lake`."""
    made = Connection(f"sqlite:///{tmp_path}/meta.db")
    with made.connect() as opened:
        opened.create_repository("lake", (tmp_path / "a lake, 100 % real").as_uri())
    return made


@pytest.fixture
def cluster(spark: SparkSession, connection: Connection) -> SparkCluster:
    return SparkCluster(spark, connection)


def not_called() -> SparkSession:
    raise AssertionError("a session was asked for")


def test_results_come_in_the_order_of_the_items(cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_AT_ONCE", 3)
    assert list(cluster.map(toy_work.doubled, range(7))) == [0, 2, 4, 6, 8, 10, 12]


def test_each_item_is_a_task_of_its_own(cluster: SparkCluster) -> None:
    assert list(cluster.map(toy_work.partition, range(5))) == [(item, 0) for item in range(5)]


def test_nothing_starts_before_a_result_is_asked_for(connection: Connection) -> None:
    cluster = SparkCluster(not_called, connection)
    cluster.map(toy_work.doubled, [1])
    assert list(cluster.map(toy_work.doubled, [])) == []


def test_the_first_error_of_graveler_arrives_as_it_was(cluster: SparkCluster) -> None:
    results = cluster.map(toy_work.refused, range(6))
    assert [next(results) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(Conflict, match="item 3 is in the way") as raised:
        next(results)
    assert raised.value.kind is Kind.MergeConflict
    assert raised.value.details == {"item": 3, "path": b"\x00\xff"}
    assert "toy_work.py" in raised.value.__notes__[0]


def test_other_errors_are_tried_again_and_then_raised(cluster: SparkCluster, tmp_path: Path) -> None:
    assert list(cluster.map(partial(toy_work.stumbled_once, str(tmp_path)), range(2))) == [0, 1]
    assert {(tmp_path / str(item)).stat().st_size for item in range(2)} == {2}
    with pytest.raises(PythonException, match="ArithmeticError: item 5"):
        list(cluster.map(toy_work.broken, [5]))


def test_a_worker_that_dies_is_replaced(cluster: SparkCluster, tmp_path: Path) -> None:
    results = list(cluster.map(partial(toy_work.died_once, str(tmp_path)), range(4)))
    assert [item for item, _ in results] == [0, 1, 2, 3]
    assert results[2] == (2, 2)


def test_workers_open_stores_themselves(cluster: SparkCluster, connection: Connection) -> None:
    with connection.connect() as here:
        head = here.repository("lake").commit("main").id
    for process, found in cluster.map(toy_work.head_of_main, ["lake", "lake"]):
        assert process != os.getpid()
        assert found == head


def test_workers_open_postgresql(spark: SparkSession, postgresql_url: str, tmp_path: Path) -> None:
    connection = Connection(postgresql_url)
    with connection.connect() as here:
        head = here.create_repository("lake", (tmp_path / "lake").as_uri()).commit("main").id
    [(process, found)] = SparkCluster(spark, connection).map(toy_work.head_of_main, ["lake"])
    assert (process == os.getpid(), found) == (False, head)


def test_workers_write_where_the_driver_reads(cluster: SparkCluster, connection: Connection) -> None:
    lake = repository(connection)
    assert list(cluster.map(partial(toy_work.blob_in, lake), [1, 2])) == [b"\x01", b"\x02"]
    with connection.connect() as here:
        assert here._stores.blobs.at(lake.storage_namespace).read("data/2") == b"\x02"


def test_a_worker_is_one_of_many_on_its_machine(cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = os.environ.get("POLARS_MAX_THREADS", "1")
    assert list(cluster.map(toy_work.slots, [0])) == [wanted]


@pytest.mark.parametrize("where", ["work", "item"])
def test_a_namespace_in_memory_is_refused_before_anything_starts(connection: Connection, where: str) -> None:
    lake = repository(connection).model_copy(update={"storage_namespace": "memory://bucket/lake"})
    work: Callable[..., Any] = partial(toy_work.blob_in, lake) if where == "work" else toy_work.doubled
    items: list[Any] = [1] if where == "work" else [1, {"deep": (lake,)}]
    with pytest.raises(InvalidInput, match="exists in one process"):
        next(SparkCluster(not_called, connection).map(work, items))


def test_workers_on_another_file_system_are_refused(cluster: SparkCluster, connection: Connection) -> None:
    sighted = module.sights(connection.url, [])
    elsewhere = tuple(replace(sight, inode=sight.inode + 1) for sight in sighted)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "sights", lambda *_: elsewhere)
        with pytest.raises(InvalidInput, match="finds another file there than the driver"):
            list(cluster.map(toy_work.doubled, [1]))


def test_workers_with_another_version_are_refused(cluster: SparkCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "version", lambda _: "99.0")
    with pytest.raises(InvalidInput, match=r"the driver has 99\.0"):
        list(cluster.map(toy_work.doubled, [1]))


def test_a_worker_without_the_package_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "graveler.spark.worker", None)
    with pytest.raises(RuntimeError, match=NOT_INSTALLED):
        list(module._carried("graveler.spark.worker", "outcomes", b"")(iter([])))


def test_a_session_that_is_missing_or_stopped_is_told(connection: Connection, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="no Spark session"):
        SparkCluster(None, connection)  # type: ignore[arg-type]

    def stopped() -> SparkSession:
        raise RuntimeError("Cannot call methods on a stopped SparkContext.")

    with pytest.raises(Unavailable, match="session is stopped"):
        next(SparkCluster(stopped, connection).map(toy_work.doubled, [1]))


@pytest.mark.parametrize(("rows", "tasks"), [(0, 1), (99, 1), (100, 10), (101, 11), (1_000, 100)])
def test_work_below_the_threshold_is_one_task(connection: Connection, rows: int, tasks: int) -> None:
    assert SparkCluster(not_called, connection, rows_per_task=10, threshold=100).tasks(rows) == tasks


def test_work_on_the_cluster_has_at_least_two_tasks(connection: Connection) -> None:
    assert SparkCluster(not_called, connection, rows_per_task=10, threshold=0).tasks(1) == 2
    for wrong in ({"rows_per_task": 0}, {"threshold": -1}):
        with pytest.raises(InvalidInput, match="rows_per_task must be at least 1"):
            SparkCluster(not_called, connection, **wrong)


def test_a_worker_takes_several_items_too(connection: Connection) -> None:
    """Spark puts one into a partition; nothing rests on that."""
    packed_call, rows = SparkCluster(not_called, connection)._packed(toy_work.doubled, [1, 2, 3])
    assert rows.schema == ITEMS
    made = pa.Table.from_batches(outcomes(packed_call, iter(rows.combine_chunks().to_batches())))
    assert made["ordinal"].to_pylist() == [0, 1, 2]


def repository(connection: Connection) -> RepositoryRecord:
    with connection.connect() as here:
        return next(active(here._stores.kv))
