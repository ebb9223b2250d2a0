"""Imports that Spark's workers list, read and sort: the commits that are made here."""

from __future__ import annotations

import random
from functools import partial
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from graveler.spark import sorting
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler_core.blobs.port import LISTED
from graveler_core.engine.importing import on_cluster as spreading
from graveler_core.errors import InvalidInput, NotFound
from graveler_core.facade.repository import Repository
from tests.graveler.spark import toy_work
from tests.graveler.spark.engines import Engines
from tests.s3_server import S3Server

ROWS = 40_000


@pytest.fixture(autouse=True)
def _asked_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spreading, "FIRST", 500)


def inventory(directory: Path, rows: int, files: int = 5) -> str:
    """Parquet files that list so many objects of a bucket, in no order; gives their URI."""
    directory.mkdir()
    numbers = list(range(rows))
    random.Random(rows).shuffle(numbers)
    for number in range(files):
        part = numbers[number::files]
        times = pa.array([n * 1_000_003 for n in part], pa.timestamp("us", "UTC"))
        columns = {"key": [f"raw/{n % 7}/{n:06}" for n in part], "size": part, "e_tag": [f"e{n}" for n in part]}
        pq.write_table(pa.table({**columns, "last_modified_date": times}), directory / f"{number}.parquet")
    return directory.as_uri()


def test_inventories_are_sorted_by_spark(spark: SparkSession, tmp_path: Path) -> None:
    engines = Engines(spark, tmp_path)
    for rows in (ROWS, ROWS + 500):  # the second finds what is new
        uri = inventory(tmp_path / str(rows), rows)

        def imported(repository: Repository, _: random.Random, uri: str = uri) -> None:
            engines.report.begin()
            repository.import_inventory(uri, "s3://bucket/raw", "main", "in")

        engines.both(imported, 0)
        assert engines.report.engine == "spark"
        engines.assert_equal("main")
    engines.stores.close()


def test_directories_of_a_bucket_are_listed_by_workers(spark: SparkSession, s3: S3Server, tmp_path: Path) -> None:
    bucket = s3.make_bucket(f"b{uuid4().hex}")
    for number in range(1_050):
        s3.put(bucket, f"raw/{number % 3}/{number % 5}/{number:04}", b"." * (number % 4 + 1))
    s3.put(bucket, "raw/1/", b"")
    connection = Connection(f"sqlite:///{tmp_path}/meta.db?durability=process", s3.options)
    engines = Engines(spark, tmp_path, 300, 500, connection)
    told: list[int] = []

    def imported(repository: Repository, _: random.Random) -> None:
        engines.report.begin()
        told.clear()
        done = repository.import_prefix(f"s3://{bucket}/raw", "main", "in", exclude=["2/4/*"], progress=told.append)
        assert (done.objects, done.unmatched, done.markers) == (980, 70, 1)

    engines.both(imported, 0)
    assert engines.report.engine == "spark"
    engines.assert_equal("main")
    assert sum(told) == 1_051
    engines.stores.close()


def test_what_is_wrong_with_an_inventory_is_told_as_it_is_here(spark: SparkSession, tmp_path: Path) -> None:
    engines = Engines(spark, tmp_path)
    twice = inventory(tmp_path / "twice", ROWS)
    pq.write_table(pa.table({"key": ["raw/0/000000"], "size": [0]}), tmp_path / "twice" / "z.parquet")
    with pytest.raises(InvalidInput, match="1 key is listed again"):
        engines.spark.import_inventory(twice, "s3://bucket/raw", "main")
    lacking = inventory(tmp_path / "lacking", ROWS)
    pq.write_table(pa.table({"key": ["raw/0/000000"]}), tmp_path / "lacking" / "z.parquet")
    with pytest.raises(InvalidInput, match=r"'z.parquet' lacks the column 'size'"):
        engines.spark.import_inventory(lacking, "s3://bucket/raw", "main")
    assert len(list(engines.spark.log("main"))) == 1
    engines.stores.close()


def test_rows_come_to_their_partitions_in_order(spark: SparkSession, tmp_path: Path) -> None:
    connection = Connection(f"sqlite:///{tmp_path}/meta.db")
    connection.connect().close()
    cluster = SparkCluster(spark, connection)
    cuts = [b"000009", b"000010", b"000500"]
    found = list(cluster.sort(toy_work.hundred_rows, range(10), cuts, toy_work.keys_of_partition))
    keys = [b"%06d" % n for n in range(1_000)]
    assert found == [(0, keys[:10]), (1, keys[10:11]), (2, keys[11:501]), (3, keys[501:])]
    nothing = list(cluster.sort(toy_work.hundred_rows, range(1), [b"5", b"6"], toy_work.keys_of_partition))
    assert [len(keys) for _, keys in nothing] == [100, 0, 0]
    with pytest.raises(NotFound, match="item 7 is gone") as raised:
        list(cluster.sort(partial(toy_work.rows_but_one, 7), range(10), cuts, toy_work.keys_of_partition))
    assert any("rows_but_one" in note for note in raised.value.__notes__)


def test_rows_travel_whole() -> None:
    [table] = sorting.in_partitions(lambda stores, item: iter([toy_work.listed([2, 1])]), [b"000001"], None, 0)  # type: ignore[arg-type]
    assert table.column("partition_number").to_pylist() == [0, 1]
    [batch] = table.to_batches()
    again = sorting._listed(1, batch.slice(1))
    assert again.schema == LISTED
    assert again.equals(toy_work.listed([2]))
    with pytest.raises(AssertionError, match="another partition"):
        sorting._listed(1, batch)
