"""Tables written and read by Spark: files, keys, checksums, what is refused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from graveler.spark.source import graveler_read, register
from graveler.spark.tables import PARQUET, Split, folder, hadoop_uri, stage_table
from graveler_core import connect
from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType, Entry
from jobs.flights import RAW_MONTH

MONTHS = ("2013-01", "2013-02", "2013-03")


def by(expression: str, keys: Sequence[str]) -> Split:
    return Split(F.expr(expression), {key: folder(key) for key in keys})


class Tables:
    """The branch `main` of a repository, and what is staged there."""

    def __init__(self, url: str, repo: Repository) -> None:
        self.url, self.repo = url, repo

    def stage(self, frame: DataFrame, path: str, split: Split | None = None) -> list[Entry]:
        """Stage a table; gives the entries of the path."""
        register(frame.sparkSession)
        place = {"store": self.url, "repository": "lake", "branch": "main", "path": path}
        stage_table(frame, place, split)
        return list(self.repo.branch("main").list(f"{path}/"))

    def read(self, path: str, ref: str = "main") -> DataFrame:
        spark = SparkSession.getActiveSession()
        assert spark is not None
        return graveler_read(spark, self.repo, ref, path)


@pytest.fixture
def tables(tmp_path: Path, namespace: str) -> Iterator[Tables]:
    url = f"sqlite:///{tmp_path / 'meta.db'}?durability=process"
    with connect(url) as graveler:
        yield Tables(url, graveler.create_repository("lake", namespace))


def test_a_split_table_is_written_a_directory_a_key(delivered: DataFrame, tables: Tables) -> None:
    written = tables.stage(delivered, "raw", by(RAW_MONTH, MONTHS))
    assert [entry.path for entry in written] == [f"raw/{month}/part-00000.parquet" for month in MONTHS]
    for entry in written:
        assert len(tables.repo.branch("main").read(entry.path)) == entry.size
        assert (entry.content_type, entry.address_type) == (PARQUET, AddressType.RELATIVE)
    whole = tables.read("raw")
    assert whole.exceptAll(delivered).isEmpty()
    assert whole.count() == delivered.count()
    assert tables.read("raw/2013-01").dtypes == delivered.dtypes
    assert len(list(tables.repo.log("main"))) == 1


def test_equal_rows_give_equal_files_whatever_else_is_written(delivered: DataFrame, tables: Tables) -> None:
    whole = tables.stage(delivered, "raw", by(RAW_MONTH, MONTHS))
    tables.repo.branch("main").commit("whole")
    shuffled = delivered.where("month = 2").repartition(5, "day")
    again = tables.stage(shuffled, "raw", by(RAW_MONTH, ["2013-02"]))
    assert [(e.path, e.checksum) for e in again] == [(e.path, e.checksum) for e in whole]
    assert again[1].address != whole[1].address
    assert list(tables.repo.branch("main").uncommitted()) == []


def test_other_rows_or_another_schema_give_another_checksum(spark: SparkSession, tables: Tables) -> None:
    frames = [
        spark.createDataFrame([(1,)], "n INT"),
        spark.createDataFrame([(2,)], "n INT"),
        spark.createDataFrame([(1,)], "m INT"),
        spark.sql("SELECT date_from_unix_date(1) AS n"),  # the same four bytes
    ]
    checksums = {entry.checksum for frame in frames for entry in tables.stage(frame.coalesce(1), "t")}
    assert len(checksums) == len(frames)


def test_a_table_that_is_not_split_keeps_its_files(spark: SparkSession, tables: Tables) -> None:
    written = tables.stage(spark.range(100).repartition(3), "some/table")
    assert [entry.path for entry in written] == [f"some/table/part-0000{n}.parquet" for n in range(3)]
    assert {row.id for row in tables.read("some/table").collect()} == set(range(100))


def test_any_text_can_be_a_partition_key(spark: SparkSession, tables: Tables) -> None:
    keys = ["a/b", "ü ber", "x%20y", "..", "k=v", "_hidden"]
    frame = spark.createDataFrame([(k, n) for n, k in enumerate(keys)], "k STRING, n INT")
    written = tables.stage(frame, "t", by("k", keys))
    folders = {f"t/{folder(key)}" for key in keys}
    assert len(folders) == 6
    assert {entry.path.rsplit("/", 1)[0] + "/" for entry in written} == folders
    assert all(folder.count("/") == 2 for folder in folders)
    for n, key in enumerate(keys):
        assert [row.n for row in tables.read(f"t/{folder(key)}").collect()] == [n]
    assert tables.read("t").count() == 6


@pytest.mark.parametrize("expression", [RAW_MONTH, "CAST(NULL AS STRING)"])
def test_rows_outside_of_the_partitions_are_refused(delivered: DataFrame, tables: Tables, expression: str) -> None:
    with pytest.raises(Exception, match=r"belongs to the partition .*, but must belong to one of \['2013-01'\]"):
        tables.stage(delivered, "raw", by(expression, ["2013-01"]))
    assert list(tables.repo.branch("main").list()) == []


def test_a_partition_without_rows_has_no_files(delivered: DataFrame, tables: Tables) -> None:
    january = delivered.where("month = 1")
    assert len(tables.stage(january, "raw", by(RAW_MONTH, ["2013-01", "2013-05"]))) == 1
    assert len(tables.stage(delivered.where("false"), "raw", by(RAW_MONTH, ["2013-01"]))) == 0


def test_what_is_staged_can_be_read_at_a_commit(spark: SparkSession, tables: Tables) -> None:
    commits = []
    for count in (10, 25):
        tables.stage(spark.range(count), "numbers")
        commits.append(tables.repo.branch("main").commit(f"{count}"))
    assert [tables.read("numbers", commit.id).count() for commit in commits] == [10, 25]


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
