"""Content read by Spark's own readers: formats, partition columns, refs, strange names, what is refused."""

from __future__ import annotations

import io
from datetime import timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import Row, SparkSession

from graveler.spark.source import content, graveler_read
from graveler_core.errors import InvalidInput, Kind, LimitExceeded, NotFound
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import AddressType, Entry
from tests.graveler.spark.source.lakes import Lake


def parquet(**columns: list[object]) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue()


@pytest.fixture
def main(place: Lake) -> Branch:
    return place.repo.branch("main")


@pytest.mark.parametrize("format", ["parquet", "csv", "json", "orc"])
def test_formats(spark: SparkSession, place: Lake, main: Branch, format: str) -> None:
    table, sink = pa.table({"n": [1, 2], "t": ["x", "y"]}), io.BytesIO()
    orc.write_table(table, sink)
    data = {"parquet": parquet(n=[1, 2], t=["x", "y"]), "csv": b"1,x\n2,y\n", "orc": sink.getvalue()}
    data["json"] = b'{"n": 1, "t": "x"}\n{"n": 2, "t": "y"}\n'
    main.put("t/a", data[format])
    frame = graveler_read(spark, place.repo, "main", "t", format, schema="n BIGINT, t STRING")
    assert sorted(frame.collect()) == [Row(n=1, t="x"), Row(n=2, t="y")]


def test_options_of_the_reader_and_of_the_store(spark: SparkSession, place: Lake, main: Branch) -> None:
    main.put("t.csv", b"n;t\n1;x\n")
    main.commit("one")
    options = place.options()
    frame = graveler_read(spark, options, "main@", "t.csv", "csv", sep=";", header="true")
    assert frame.collect() == [Row(n="1", t="x")]
    with pytest.raises(InvalidInput, match="option 'ref': unknown for graveler_read"):
        graveler_read(spark, {**options, "ref": "main"}, "main", "t.csv", "csv")


def test_directories_are_columns_at_any_ref(spark: SparkSession, place: Lake, main: Branch) -> None:
    main.put("sales/year=2012/month=01/a+b.parquet", parquet(n=[1], year=[0]))
    main.put("sales/year=2013/month=12/c.parquet", parquet(n=[2, 3], year=[0, 0]))
    main.put("sales/_SUCCESS", b"")
    main.put("sales/.hidden/x", b"")
    main.put("sales/", b"")  # marks the directory
    main.put("sales/empty/", b"")
    main.put("sales_old/x", b"no parquet")
    first = main.commit("two years").id
    main.remove_prefix("sales/year=2012/")
    frame = graveler_read(spark, place.repo, first, "sales/")
    assert frame.orderBy("n").collect() == [
        Row(n=1, year=2012, month=1),
        Row(n=2, year=2013, month=12),
        Row(n=3, year=2013, month=12),
    ]
    assert graveler_read(spark, place.repo, "main", "sales").count() == 2
    below = graveler_read(spark, place.repo, first, ["sales/year=2012", "sales/year=2013/"])
    assert below.select("n", "month").orderBy("n").collect()[0] == Row(n=1, month=1)


def test_directories_stay_text_on_demand(spark: SparkSession, place: Lake, main: Branch) -> None:
    main.put("t/x=01/a", parquet(n=[1]))
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    try:
        assert graveler_read(spark, place.repo, "main", "t").collect() == [Row(n=1, x="01")]
    finally:
        spark.conf.unset("spark.sql.sources.partitionColumnTypeInference.enabled")


def test_objects_elsewhere_and_strange_names(spark: SparkSession, place: Lake, main: Branch, tmp_path: Path) -> None:
    elsewhere = tmp_path / "x=y" / "[a]{b}*? ü+%20.parquet"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(parquet(n=[7]))
    full = Entry(address=elsewhere.as_uri(), size=1, address_type=AddressType.FULL)
    main.stage("t/k=1/out", full)
    main.put("t/k=2/in", parquet(n=[8]))
    frame = graveler_read(spark, place.repo, "main", "t")
    assert frame.orderBy("n").collect() == [Row(n=7, k=1), Row(n=8, k=2)]


def test_copies_of_a_file_have_rows_of_their_own(spark: SparkSession, place: Lake, main: Branch) -> None:
    main.put("t/k=1/a", parquet(n=[1, 2]))
    main.stage("t/k=2/a", main.get("t/k=1/a"))
    main.put("t/k=2/b", parquet(n=[3]))
    rows = graveler_read(spark, place.repo, "main", "t").orderBy("n", "k").collect()
    assert rows == [Row(n=1, k=1), Row(n=1, k=2), Row(n=2, k=1), Row(n=2, k=2), Row(n=3, k=2)]
    for path in ("a", "b"):
        main.stage(f"flat/{path}", main.get("t/k=1/a"))
    main.stage("flat/c", main.get("t/k=2/b"))
    rows = graveler_read(spark, place.repo, "main", "flat").orderBy("n").collect()
    assert rows == [Row(n=1), Row(n=1), Row(n=2), Row(n=2), Row(n=3)]


def test_what_is_refused(spark: SparkSession, place: Lake, main: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotFound, match=r"no files under 'a', 'b/' at 'main'") as e:
        graveler_read(spark, place.repo, "main", ["a", "b/"])
    assert e.value.kind is Kind.PathNotFound
    with pytest.raises(InvalidInput, match="format 'excel': must be one of parquet"):
        graveler_read(spark, place.repo, "main", "a", "excel")
    main.stage("i/x", Entry(data=b"x", size=1, address_type=AddressType.INLINE))
    with pytest.raises(InvalidInput, match="'i/x': must be stored as a file, but its content is inline"):
        graveler_read(spark, place.repo, "main", "i")
    main.put("t/a", b"")
    main.put("t/b", b"")
    monkeypatch.setattr(content, "MOST_FILES", 1)
    with pytest.raises(LimitExceeded, match="path 't': holds more than 1 files") as many:
        graveler_read(spark, place.repo, "main", "t")
    assert many.value.details == {"path": "t", "limit": 1}


@pytest.mark.parametrize("given", ["repository", "options"])
def test_content_that_is_gone_says_why(spark: SparkSession, place: Lake, main: Branch, given: str) -> None:
    """The same error as of the other ways to read, and not that of a missing file."""
    source = place.repo if given == "repository" else place.options()
    for number in range(3):
        main.put("t/year=1/a b.parquet", parquet(n=[number]))
        main.put("t/year=2/b.parquet", parquet(n=[number]))
        main.commit(f"number {number}")
    newest, middle, oldest, _ = (entry.id for entry in place.repo.log("main"))
    place.repo.erase(["t/year=1/a b.parquet"], why="request 17")
    for ref in (newest, oldest):
        with pytest.raises(
            NotFound, match=r"path 't/year=1/a b.parquet': its content was erased on .*: request 17"
        ) as e:
            graveler_read(spark, source, ref, "t")
        assert e.value.kind is Kind.ContentErased
    assert graveler_read(spark, source, "main", "t").collect() == [Row(n=2, year=2)]
    place.repo.set_retention(0)
    place.repo.collect(grace=timedelta(0), alone=True)
    with pytest.raises(NotFound, match=f"path 't/year=2/b.parquet' in commit {middle}: the content expired") as expired:
        graveler_read(spark, source, middle, "t/year=2", schema="n BIGINT")
    assert expired.value.kind is Kind.ContentExpired
