"""`df.write.format("graveler")`: rows come back, in one commit, also where tasks die; what is refused."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, DataFrameWriter, SparkSession

from graveler.spark.source import graveler_read, register
from graveler_core import connect
from graveler_core.model.entry import Entry
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.graveler.spark.source.lakes import Lake


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def writer(frame: DataFrame, lake: Lake, **options: Any) -> DataFrameWriter:
    given = lake.options(branch="main", path="t", **options)
    return frame.write.format("graveler").options(**given)


def swept(lake: Lake) -> list[str]:
    """The files that are left when all is taken for dead that has not announced that it will name them."""
    lake.repo.sweep(grace=timedelta(0), alone=True, uploads=True)
    return [blob.address for blob in lake.repo._stores.blobs.at(lake.repo.storage_namespace).list("data/")]


def test_rows_come_back(spark: SparkSession, place: Lake) -> None:
    columns = [
        "id",
        "CAST(id AS STRING) AS text",
        "TIMESTAMP'2026-01-01 12:00:00' AS at",
        "TIMESTAMP_NTZ'2026-01-01 12:00:00' AS local",
        "DATE'2026-01-01' AS day",
        "map('k', id) AS m",
        "array(named_struct('x', id, 'y', CAST(NULL AS DECIMAL(9, 2)))) AS s",
        "CAST('b' AS BINARY) AS b",
    ]
    frame = spark.range(1_000).selectExpr(*columns).repartition(3)
    writer(frame, place).mode("overwrite").save()
    found = graveler_read(spark, place.repo, "main", "t")
    assert found.dtypes == frame.dtypes
    assert sorted(map(str, found.collect())) == sorted(map(str, frame.collect()))
    writer(frame.limit(10), place).mode("append").save()
    assert graveler_read(spark, place.repo, "main@", "t").count() == 1_010
    assert [len(list(place.repo.at(ref).list("t/"))) for ref in ("main@", "main~1")] == [5, 4]
    assert [commit.message for commit in place.repo.log("main", limit=2)] == ["Append to t", "Overwrite t"]


def test_other_threads_can_write_too(spark: SparkSession, place: Lake) -> None:
    frame = spark.range(3)

    def write() -> None:
        register(spark)
        writer(frame, place).mode("append").save()

    with ThreadPoolExecutor(1) as pool:
        pool.submit(write).result()
    assert graveler_read(spark, place.repo, "main", "t").count() == 3


@pytest.mark.parametrize("mode", ["ignore", "errorifexists"])
def test_other_modes(spark: SparkSession, place: Lake, mode: str) -> None:
    with pytest.raises(AnalysisException, match='use either the "Append" or "Overwrite" mode'):
        writer(spark.range(1), place).mode(mode).save()


def test_errors_name_the_option(spark: SparkSession, place: Lake) -> None:
    with pytest.raises(Exception, match="option 'foo': unknown for writes"):
        writer(spark.range(1), place, foo="x").mode("append").save()
    assert len(list(place.repo.log("main"))) == 1


def test_a_worker_that_dies_once_changes_nothing(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    dead = tmp_path / "dead"

    def mortal(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield batch
            if not dead.exists():
                dead.touch()
                os._exit(1)

    frame = spark.range(100).repartition(2).mapInArrow(mortal, "id BIGINT")
    writer(frame, place).mode("append").save()
    assert dead.exists()
    found = graveler_read(spark, place.repo, "main", "t")
    assert sorted(row.id for row in found.collect()) == list(range(100))
    assert len(list(place.repo.log("main"))) == 2
    assert not list(access.scan(place.repo._stores.kv, keys.uploads(place.repo._active())))
    named = [each.address for each in place.repo.at("main").list("t/part-") if isinstance(each, Entry)]
    assert swept(place) == sorted(map(str, named))


def test_a_write_that_fails_leaves_nothing(spark: SparkSession, place: Lake) -> None:
    frame = spark.range(100).repartition(2).selectExpr("IF(id = 77, raise_error('no such row'), id) AS id")
    with pytest.raises(Exception, match="no such row"):
        writer(frame, place).mode("append").save()
    assert len(list(place.repo.log("main"))) == 1
    assert list(place.repo.at("main").list()) == []
    assert swept(place) == []


def test_the_commit_has_the_credentials_that_tasks_do_not_have(
    spark: SparkSession, place: Lake, tmp_path: Path
) -> None:
    """Spark itself pickles the writers: of a batch for tasks and commit, of a stream for tasks."""
    with connect(place.url) as graveler:
        made = graveler.iam.set_up("ada")
    keys = {"access_key_id": made.access_key_id, "secret_access_key": made.secret.get_secret_value()}
    writer(spark.range(3), place, **keys).mode("append").save()
    with pytest.raises(AnalysisException, match="wants credentials"):
        writer(spark.range(3), place).mode("append").save()
    rows = spark.readStream.format("graveler").options(**place.options(relation="changes", ref="main", **keys)).load()
    query = rows.select("path").writeStream.format("graveler").option("checkpointLocation", str(tmp_path / "c"))
    target = place.options(branch="main", path="seen", **keys)
    query.options(**target).trigger(availableNow=True).start().awaitTermination()
    assert [commit.message for commit in place.repo.log("main", limit=2)] == ["Append to seen", "Append to t"]
