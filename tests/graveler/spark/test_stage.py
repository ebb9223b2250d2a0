"""DataFrames that are staged: what comes of them is what `stage_many` makes of the same rows; and what is refused."""

from __future__ import annotations

import json
import random
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.sorted_frame import sorted_frame
from graveler.spark.staging import stage_dataframe
from graveler_core.cli.app import FAILED, run
from graveler_core.errors import GravelerError, InvalidInput, PermissionDenied
from graveler_core.facade.graveler import Graveler
from graveler_core.model.changes import Written
from graveler_core.model.layers import SegmentLayer
from graveler_core.stores import Stores
from tests.graveler.spark import toy_work
from tests.graveler.spark.engines import Engines, table

U = TypeVar("U")


@pytest.fixture
def engines(spark: SparkSession, tmp_path: Path) -> Iterator[Engines]:
    made = Engines(spark, tmp_path)
    yield made
    made.stores.close()


def many(chance: random.Random, rows: int) -> pa.Table:
    """Most keys under one prefix, in no order; some rows remove their path."""
    numbers = [int(1_000_000 * chance.random() ** 9) * 7 + chance.randrange(7) for _ in range(rows)]
    made = table(list(dict.fromkeys(numbers)), chance.getrandbits(20))
    return made.append_column("removed", pa.array([chance.random() < 0.1 for _ in range(made.num_rows)]))


def strange() -> pa.Table:
    """Every column, keys whose order is another one in UTF-16 and in any alphabet."""
    keys = ["é", "e\u0301", "Z", "a", "\uffee", "\U0001f600", "~", "ß", "a/b", "\U0010ffff"]
    none = [None] * len(keys)
    return pa.table(
        {
            "key": keys,
            "address": ["x", None, "s3://bucket/k", *["y"] * 7],
            "address_type": pa.array([1, 0, 2, None, *[1] * 6], pa.int8()),
            "data": pa.array([None, b"\x00\xff", *none[2:]], pa.binary()),
            "size": [1, 0, *range(8)],
            "checksum": pa.array(["c", *none[1:]], pa.string()),
            "mtime": pa.array([1, *none[1:]], pa.timestamp("us", "Europe/Berlin")),
            "content_type": ["text/plain"] * 10,
            "metadata": pa.array([[("b", "2"), ("a", "1")], *none[1:]], pa.map_(pa.string(), pa.string())),
            "payload": pa.array([None, *range(9)], pa.int32()),
            "content_id": pa.array([uuid.UUID(int=7).bytes, *none[1:]], pa.binary()),
            "identity": pa.array([b"not believed"] * 10),
        }
    )


def as_relation(given: pa.Table) -> pa.Table:
    """As the relation `entries` shows them."""
    names = pa.array(["inline", "RELATIVE", "full"]).take(given["address_type"].combine_chunks())
    named = given.set_column(given.schema.get_field_index("address_type"), "address_type", names)
    return named.rename_columns(["path" if name == "key" else name for name in named.schema.names])


def assert_alike(engines: Engines, given: pa.Table, frame: DataFrame, partitions: int | None = None) -> Written:
    engines.alone.branch("main").stage_many(given)
    written = stage_dataframe(frame, engines.spark.branch("main"), partitions=partitions)
    for repository in (engines.alone, engines.spark):
        repository.branch("main").commit("staged")
    engines.assert_equal("main")
    return written


@pytest.mark.parametrize(("rows", "partitions"), [(30_000, 5), (3_000, None), (1, 3)])
def test_a_commit_of_them_is_that_of_stage_many(
    engines: Engines, spark: SparkSession, rows: int, partitions: int
) -> None:
    chance = random.Random(rows)
    for _ in range(2):
        given = many(chance, rows)
        written = assert_alike(engines, given, spark.createDataFrame(given), partitions)
        assert (written.records, written.removals) == (given.num_rows, sum(given["removed"].to_pylist()))
        assert written.files <= (partitions or 10)
    assert engines.report.engine == "spark"


def test_columns_and_keys_of_every_kind(engines: Engines, spark: SparkSession) -> None:
    given = strange()
    assert assert_alike(engines, given, spark.createDataFrame(as_relation(given)), 4).records == 10


def test_no_rows_stage_nothing(engines: Engines, spark: SparkSession) -> None:
    main = engines.spark.branch("main")
    none = spark.createDataFrame([], "path string, size bigint")
    assert stage_dataframe(none, main) == stage_dataframe(none, main, partitions=3) == Written(0, 0, 0)
    assert main.record().sealed_tokens == ()


@dataclass(frozen=True)
class Killing(SparkCluster):
    """Workers die once at each partition, when they are done with it and have not handed it back."""

    marks: str = ""

    def map_rows(self, work: Callable[[Stores, Iterator[pa.RecordBatch]], U], frame: DataFrame) -> Iterator[U]:
        return super().map_rows(partial(toy_work.killed_after_rows, self.marks, work), frame)


def test_workers_that_die_leave_one_layer(engines: Engines, spark: SparkSession, tmp_path: Path) -> None:
    held = engines.spark._stores
    assert isinstance(held.cluster, SparkCluster)
    cluster = Killing(spark, held.cluster.connection, marks=str(tmp_path))
    engines.spark = Graveler(replace(held, cluster=cluster)).repository("spark")
    given = many(random.Random(3), 2_000)
    stage_dataframe(spark.createDataFrame(given), engines.spark.branch("main"), partitions=3)
    assert len([*tmp_path.glob("killed-*")]) == 3
    (layer,) = engines.spark.branch("main").record().sealed_tokens
    assert isinstance(layer, SegmentLayer)
    files = [*(tmp_path / "spark" / "_graveler" / "staging" / layer.id).iterdir()]
    assert len(files) == 2 * 3 + 1
    engines.alone.branch("main").stage_many(given)
    for repository in (engines.alone, engines.spark):
        repository.branch("main").commit("staged")
    engines.assert_equal("main")
    assert not [file for file in files if file.exists()]


BAD: dict[str, tuple[str, str, list[tuple[Any, ...]]]] = {
    "twice": ("path string, address string", "'b': occurs more than once", [("a", "x"), ("b", "x"), ("b", "y")]),
    "no path": ("path string, address string", "must not contain nulls", [("a", "x"), (None, "x")]),
    "no address": (
        "path string, address string",
        "'b': an entry must have an address or data",
        [("a", "x"), ("b", None)],
    ),
    "negative": ("path string, address string, size int", "'b': size must not be negative", [("b", "x", -1)]),
    "no such type": ("path string, address string, address_type string", "address_type must be", [("b", "x", "odd")]),
}


@pytest.mark.parametrize("bad", BAD)
def test_rows_that_break_a_rule_are_refused_by_name(engines: Engines, spark: SparkSession, bad: str) -> None:
    schema, said, rows = BAD[bad]
    main = engines.spark.branch("main")
    with pytest.raises(InvalidInput, match=said):
        stage_dataframe(spark.createDataFrame(rows, schema), main)
    assert main.record().sealed_tokens == ()
    assert not [*main.staged()]


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ("path string, colour string", "columns 'colour': are not columns of an entry"),
        ("address string", "column 'key': is missing"),
        ("path string, key string", "columns 'key': are duplicated"),
        ("path string, size struct<a: int>", "column 'size': struct<a: int32> cannot be converted to int64"),
        ("path int", "column 'key': int32 cannot be converted to binary"),
        ("path string, size interval year", "columns of the DataFrame: .*YearMonth"),
        ("path string, `a.b` int", "'a.b': are not columns"),
    ],
)
def test_columns_are_refused_before_anything_is_computed(spark: SparkSession, schema: str, said: str) -> None:
    with pytest.raises(InvalidInput, match=said):
        sorted_frame(spark.createDataFrame([], schema))


def test_parts_are_one_at_least(spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="partitions 0: must be at least 1"):
        sorted_frame(spark.createDataFrame([], "path string"), 0)


def test_without_spark_s_workers_it_is_one_clear_error(engines: Engines, spark: SparkSession) -> None:
    with pytest.raises(InvalidInput, match="connect with a cluster"):
        stage_dataframe(spark.createDataFrame([], "path string"), engines.alone.branch("main"))


def test_a_namespace_in_memory_is_refused(engines: Engines, spark: SparkSession) -> None:
    here = Graveler(engines.spark._stores).create_repository("here", f"memory://here/{uuid.uuid4()}", ephemeral=True)
    with pytest.raises(InvalidInput, match="exists in one process"):
        stage_dataframe(spark.createDataFrame([("a", "x")], "path string, address string"), here.branch("main"))


def test_a_protected_branch_is_refused(engines: Engines, spark: SparkSession) -> None:
    engines.spark.protect("main", ["write"])
    with pytest.raises(PermissionDenied):
        stage_dataframe(spark.createDataFrame([], "path string"), engines.spark.branch("main"))


def test_files_are_staged_by_the_command_line(
    engines: Engines, spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = tmp_path / "rows.parquet"
    pq.write_table(many(random.Random(5), 500), rows)
    store = f"sqlite:///{tmp_path}/meta.db"
    asked = ["graveler://spark/main", "--store", store, "--partitions", "2", "--cluster", "spark", "--json"]
    capfd.readouterr()
    assert run(["stage", str(rows), *asked]) == 0
    document = json.loads(capfd.readouterr().out)
    assert (document["verb"], document["engine"], document["files"]) == ("stage", "spark", 2)
    assert document["records"] == len([*engines.spark.branch("main").staged()])
    assert run(["stage", str(tmp_path / "none"), *asked]) == FAILED
    assert json.loads(capfd.readouterr().out)["error"] == "InvalidInput"


def test_an_error_of_the_driver_s_is_graveler_s(engines: Engines, spark: SparkSession) -> None:
    """A branch that is not there: nothing is computed."""
    frame = spark.createDataFrame([], "path string")
    with pytest.raises(GravelerError, match="nowhere"):
        stage_dataframe(frame, engines.spark.branch("nowhere"))
