"""Tables written and read by Spark: files, keys, checksums, what is refused."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

from graveler_core import connect
from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType
from jobs.flights import RAW_MONTH
from jobs.source import graveler_read
from jobs.tables import CHECKSUM_PREFIX, PARQUET, Split, directory, hadoop_uri, write_files

pytestmark = pytest.mark.xdist_group("spark")
MONTHS = ("2013-01", "2013-02", "2013-03")


def local(namespace: str, address: str = "") -> Path:
    return Path(unquote(namespace.removeprefix("file://"))) / address


@pytest.fixture
def repo(namespace: str) -> Iterator[Repository]:
    with connect("memory://") as graveler:
        yield graveler.create_repository("lake", namespace)


def staged(repo: Repository, table: pa.Table) -> Repository:
    """The repository with what was written to it, staged in the place of all that was there."""
    repo.branch("main").remove_prefix("")
    repo.branch("main").stage_many(table)
    return repo


def test_a_split_table_is_written_a_directory_a_key(
    spark: SparkSession, delivered: DataFrame, repo: Repository, namespace: str
) -> None:
    written = write_files(delivered, namespace, "raw", Split(RAW_MONTH, MONTHS))
    assert written.column("key").to_pylist() == [f"raw/{month}/part-00000.parquet".encode() for month in MONTHS]
    for row in written.to_pylist():
        content = local(namespace, row["address"]).read_bytes()
        assert row["size"] == len(content)
        footer = int.from_bytes(content[-8:-4], "little")
        hashed = content[: -8 - footer] + delivered.schema.simpleString().encode()
        assert row["checksum"] == CHECKSUM_PREFIX + hashlib.sha256(hashed).hexdigest()
        assert row["content_type"] == PARQUET
        assert row["address_type"] == AddressType.RELATIVE
    whole = graveler_read(spark, staged(repo, written), "main", "raw")
    assert whole.exceptAll(delivered).isEmpty()
    assert whole.count() == delivered.count()
    assert graveler_read(spark, repo, "main", "raw/2013-01").columns == delivered.columns


def test_equal_rows_give_equal_files_whatever_else_is_written(delivered: DataFrame, namespace: str) -> None:
    whole = write_files(delivered, namespace, "raw", Split(RAW_MONTH, MONTHS)).to_pylist()
    shuffled = delivered.where("month = 2").repartition(5, "day")
    alone = write_files(shuffled, namespace, "raw", Split(RAW_MONTH, ["2013-02"])).to_pylist()
    assert [(r["key"], r["checksum"]) for r in alone] == [(whole[1]["key"], whole[1]["checksum"])]
    assert alone[0]["address"] != whole[1]["address"]


def test_other_rows_or_another_schema_give_another_checksum(spark: SparkSession, namespace: str) -> None:
    frames = [
        spark.createDataFrame([(1,)], "n INT"),
        spark.createDataFrame([(2,)], "n INT"),
        spark.createDataFrame([(1,)], "m INT"),
        spark.sql("SELECT date_from_unix_date(1) AS n"),  # the same four bytes
    ]
    checksums = [write_files(f.coalesce(1), namespace, "t").column("checksum").to_pylist()[-1] for f in frames]
    assert len(set(checksums)) == len(frames)


def test_a_table_that_is_not_split_keeps_its_files(spark: SparkSession, repo: Repository, namespace: str) -> None:
    frame = spark.range(100).repartition(3)
    written = write_files(frame, namespace, "some/table")
    assert written.column("key").to_pylist() == [b"some/table/part-0000%d.parquet" % n for n in range(3)]
    found = graveler_read(spark, staged(repo, written), "main", "some/table").collect()
    assert {row.id for row in found} == set(range(100))


def test_any_text_can_be_a_partition_key(spark: SparkSession, repo: Repository, namespace: str) -> None:
    keys = ["a/b", "ü ber", "x%20y", "..", "k=v", "_hidden"]
    frame = spark.createDataFrame([(k, n) for n, k in enumerate(keys)], "k STRING, n INT")
    written = write_files(frame, namespace, "t", Split("k", keys))
    folders = {directory("t", key) for key in keys}
    assert len(folders) == 6
    assert {key.decode().rsplit("/", 1)[0] + "/" for key in written.column("key").to_pylist()} == folders
    assert all(folder.count("/") == 2 for folder in folders)
    staged(repo, written)
    for n, key in enumerate(keys):
        assert [row.n for row in graveler_read(spark, repo, "main", directory("t", key)).collect()] == [n]
    assert graveler_read(spark, repo, "main", "t").count() == 6


def test_rows_outside_of_the_partitions_are_refused(delivered: DataFrame, namespace: str) -> None:
    with pytest.raises(InvalidInput, match=r"rows lie outside the partitions \['2013-01'\]"):
        write_files(delivered, namespace, "raw", Split(RAW_MONTH, ["2013-01"]))


def test_a_partition_without_rows_has_no_files(delivered: DataFrame, namespace: str) -> None:
    january = delivered.where("month = 1")
    assert write_files(january, namespace, "raw", Split(RAW_MONTH, ["2013-01", "2013-05"])).num_rows == 1
    assert write_files(delivered.where("false"), namespace, "raw", Split(RAW_MONTH, ["2013-05"])).num_rows == 0


def test_what_is_written_can_be_staged_and_read_at_a_commit(spark: SparkSession, repo: Repository) -> None:
    main = staged(repo, write_files(spark.range(10), repo.storage_namespace, "numbers")).branch("main")
    first = main.commit("ten")
    staged(repo, write_files(spark.range(25), repo.storage_namespace, "numbers"))
    second = main.commit("twenty-five")
    counts = [graveler_read(spark, repo, commit.id, "numbers").count() for commit in (first, second)]
    assert counts == [10, 25]


@pytest.mark.parametrize(
    ("namespace", "address", "expected"),
    [
        ("file:///srv/a%20b", "data/x", "file:///srv/a b/data/x"),
        ("s3://bucket/lake", "data/x", "s3a://bucket/lake/data/x"),
        ("gs://bucket", "data/x", "gs://bucket/data/x"),
        ("s3://bucket/lake", "", "s3a://bucket/lake"),
    ],
)
def test_hadoop_uri(namespace: str, address: str, expected: str) -> None:
    assert hadoop_uri(namespace, address) == expected


def test_spark_cannot_see_memory() -> None:
    with pytest.raises(InvalidInput, match="memory://lake"):
        hadoop_uri("memory://lake")
