"""Tests that reads through Spark return the entries that the façade lists."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from graveler.spark.connection import Connection, opened
from graveler.spark.source import register
from graveler.spark.source.columns import ENTRIES, wanted
from graveler.spark.source.options import read_source
from graveler.spark.source.relations import planned
from graveler_core.committed.cache import TreeCache
from graveler_core.facade.graveler import Graveler
from graveler_core.model.changes import ChangeKind
from graveler_core.model.entry import Entry
from graveler_core.testing.counting_blobs import CountingBlobs
from tests.graveler.spark.source.lakes import COUNT, Lake, Read, table


def seen(entry: Entry) -> tuple[Any, ...]:
    return entry.path, entry.size, entry.checksum, entry.address, entry.identity


def rows(frame: DataFrame) -> list[tuple[Any, ...]]:
    found = frame.select("path", "size", "checksum", "address", "identity").orderBy("path").collect()
    return [(*row[:-1], bytes(row.identity)) for row in found]


@pytest.mark.parametrize("ref", ["main", "main@", "main$", "main~1", "v1"])
def test_entries_of_any_ref(lake: Lake, read: Read, ref: str) -> None:
    frame = read(ref=ref, prefix="t/0001", partition_rows=50)
    assert rows(frame) == [seen(entry) for entry in lake.repo.at(ref).list("t/0001")]
    tail = read(ref=ref, from_="t/059990")
    assert rows(tail) == [seen(entry) for entry in lake.repo.at(ref).list(after="t/059989")]


def test_the_default_branch_in_parts(lake: Lake, read: Read) -> None:
    frame = read(partition_rows=20_000)
    assert frame.rdd.getNumPartitions() >= 3
    assert frame.count() == COUNT - 10 + 1 + 1
    assert frame.agg(F.countDistinct("path")).first() == Row(COUNT - 10 + 2)
    assert read(prefix="t/00000", partition_rows=20_000).rdd.getNumPartitions() == 1
    assert read(from_="b", to="a").count() == 0


def test_all_columns(lake: Lake, read: Read, place: Lake, spark: SparkSession) -> None:
    main = place.repo.branch("main")
    main.put("a", b"some content", content_type="text/plain", metadata={"k": "v"})
    entry = main.get("a")
    frame = spark.read.format("graveler").options(**place.options()).load()
    (row,) = frame.collect()
    assert entry.mtime is not None
    assert row.asDict() | {"identity": bytes(row.identity), "content_id": None} == {
        "path": "a",
        "size": 12,
        "checksum": entry.checksum,
        "mtime": row.mtime,
        "content_type": "text/plain",
        "metadata": {"k": "v"},
        "address": entry.address,
        "address_type": "relative",
        "identity": entry.identity,
        "data": None,
        "payload": 0,
        "content_id": None,
    }
    assert frame.select(F.unix_micros("mtime")).first() == Row(round(entry.mtime.timestamp() * 1e6))


def test_some_columns_by_a_schema(read: Read) -> None:
    assert read("size BIGINT, path STRING", prefix="u/").collect() == [Row(size=1_000_001, path="u/ü")]
    with pytest.raises(AnalysisException, match="column 'nothing': is unknown; the known columns are path, size"):
        read("nothing STRING").count()
    with pytest.raises(AnalysisException, match="column 'size': must be bigint, but is int"):
        read("size INT").count()


def test_a_dataframe_shows_one_state_whatever_moves(place: Lake, spark: SparkSession) -> None:
    register(spark)
    repo, main = place.repo, place.repo.branch("main")
    main.stage_many(table(["a", "b"]))
    repo.create_branch("dev", "main")
    frames = [spark.read.format("graveler").options(**place.options(ref=ref)).load() for ref in ("main", "dev")]
    main.reset()
    repo.branch("dev").stage_many(table(["c"]))
    repo.branch("dev").commit("moved")
    assert [frame.count() for frame in frames] == [2, 0]
    assert frames[0].join(frames[0].alias("again"), "path").count() == 2


def test_differences(lake: Lake, read: Read) -> None:
    found = read(relation="diff", left="v1", right="main").orderBy("path").collect()
    wanted = list(lake.repo.diff("v1", "main"))
    assert [row.path for row in found] == [change.path for change in wanted]
    for row, change in zip(found, wanted, strict=True):
        assert row.kind == change.kind
        for side, entry in ((row.before, change.before), (row.after, change.after)):
            assert (side and side.checksum) == (entry and entry.checksum)
            assert (side and bytes(side.identity)) == (entry and entry.identity)
    assert {row.kind for row in found} == set(ChangeKind)
    back = read(relation="diff", left="main", right="v1", prefix="u/")
    assert back.collect()[0].kind == "removed"
    assert read(relation="diff", left="main", right="v1", since_merge_base="true").count() == 0
    with pytest.raises(AnalysisException, match="option 'right': is needed for relation diff"):
        read(relation="diff", left="v1")


def test_differences_of_unrelated_trees_in_parts(lake: Lake, read: Read) -> None:
    frame = read(relation="diff", left="v1~1", right="main", partition_rows=20_000)
    assert frame.rdd.getNumPartitions() >= 3
    assert frame.groupBy("kind").count().collect() == [Row(kind="added", count=COUNT - 10 + 2)]


def test_the_log(lake: Lake, read: Read) -> None:
    wanted = list(lake.repo.log("main"))
    found = read(relation="log").collect()
    assert [(row.commit_id, tuple(row.parents), row.message, row.committer, row.generation) for row in found] == [
        (commit.id, commit.parents, commit.message, commit.committer, commit.generation) for commit in wanted
    ]
    assert [row.metadata for row in found] == [dict(commit.metadata) for commit in wanted]
    assert [row.message for row in read(relation="log", since="v1").collect()] == ["few"]
    assert [row.message for row in read(relation="log", ref="v1", prefix="t/", first_parent=True).collect()] == ["many"]


def test_branches_and_tags(lake: Lake, read: Read) -> None:
    head = lake.repo.branch("main").record().commit_id
    assert read(relation="branches", prefix="ma").collect() == [Row(name="main", commit_id=head)]
    assert read(relation="branches", prefix="none").collect() == []
    assert read(relation="branches", from_="main", to="mainz").count() == 1
    assert read(relation="branches", from_="a", to="main").count() == 0
    assert [tuple(row)[:4] for row in read(relation="tags").collect()] == [
        ("v1", lake.repo.commit("v1").id, "the first", "x")
    ]
    assert read(relation="tags", from_="v1").count() == 1
    assert read(relation="tags", from_="v1", to="v1").count() == 0


def test_tags_have_their_attributes(lake: Lake, read: Read) -> None:
    made = lake.repo.create_tag("audited", "v1", tagger="ada", metadata={"ticket": "DQ-7", "rows": "3"})
    try:
        (found,) = read(relation="tags", prefix="audited").collect()
    finally:
        lake.repo.delete_tag("audited")
    assert (found.tagger, found.metadata) == ("ada", {"ticket": "DQ-7", "rows": "3"})
    assert made.creation_date is not None
    assert found.creation_date.timestamp() == made.creation_date.timestamp()
    (plain,) = read(relation="tags").select("tagger", "metadata").collect()
    assert plain == Row(tagger="", metadata={})


def test_tags_have_their_targets(lake: Lake, read: Read) -> None:
    names = {"of-tag": "tag", "of-tree": "tree"}
    made = [lake.repo.create_tag(name, "v1", target=kind) for name, kind in names.items()]
    try:
        found = read(relation="tags", prefix="of-").select("target", "tree", "tagged").collect()
    finally:
        for name in names:
            lake.repo.delete_tag(name)
    assert found == [
        Row(target="tag", tree="", tagged="v1"),
        Row(target="tree", tree=made[1].tree, tagged=None),
    ]


def test_errors_name_what_is_wrong_and_no_secret(spark: SparkSession, lake: Lake, read: Read) -> None:
    with pytest.raises(AnalysisException, match="option 'foo': unknown for relation entries"):
        read(foo=1)
    with pytest.raises(AnalysisException, match=r"ref 'nope': .* has no branch, tag or commit"):
        read(ref="nope")
    with pytest.raises(AnalysisException, match="names of branches and tags have no '/', for example 'feature-x'"):
        read(ref="feature/x")
    with pytest.raises(AnalysisException, match="'changes' requires a stream"):
        read(relation="changes").count()
    secret = (
        spark.read.format("graveler").option("repository", "lake").option("store", "postgresql://a:geheim@[::1]:1/b")
    )
    with pytest.raises(AnalysisException) as e:
        secret.load()
    assert "geheim" not in str(e.value)


def test_what_a_plan_shows_is_no_secret(lake: Lake, read: Read, capsys: pytest.CaptureFixture[str]) -> None:
    read(**{"storage.aws_secret_access_key": "geheim"}).where("size > 3").explain(True)
    shown = capsys.readouterr().out
    assert "BatchScan graveler" in shown
    assert "geheim" not in shown
    assert lake.url not in shown


@pytest.mark.usefixtures("pushing")
@pytest.mark.parametrize(
    ("condition", "partitions"),
    [
        ("path = 't/000500'", 1),
        ("path IN ('t/000001', 't/059999', 'nothing')", 2),
        ("path LIKE 't/0000%' AND size > 50", 1),
        ("path >= 't/030000' AND path < 't/030100' AND path NOT LIKE '%7'", 1),
        ("path > 't/059990' OR path = 'u/ü'", 3),
        ("checksum = 'sum-0-77'", 3),
    ],
)
def test_filters_on_the_path_leave_out_partitions(read: Read, condition: str, partitions: int) -> None:
    plain = read(partition_rows=20_000).where(condition)
    frame = read(partition_rows=20_000, push_filters=True).where(condition)
    assert rows(frame) == rows(plain)
    assert plain.rdd.getNumPartitions() >= 3
    assert frame.rdd.getNumPartitions() == (partitions if partitions < 3 else plain.rdd.getNumPartitions())


@pytest.mark.usefixtures("pushing")
def test_filters_that_exclude_all_keys(read: Read) -> None:
    assert read(push_filters=True).where("path > 'b' AND path < 'a'").count() == 0


@pytest.mark.usefixtures("pushing")
def test_without_the_option_a_dataframe_may_be_used_with_any_filters(read: Read) -> None:
    frame = read(partition_rows=20_000)
    assert frame.where("path = 't/000500'").count() == 1
    assert frame.count() == COUNT - 10 + 2


@pytest.mark.usefixtures("pushing")
def test_spark_still_confuses_two_scans_of_one_load(read: Read) -> None:
    """Why filters are pushed only on demand: Spark 4.3 keeps the plan of the filtered scan for the other one."""
    frame = read(push_filters=True)
    assert frame.where("path = 't/000500'").count() == 1
    assert frame.count() == 1


def test_the_option_is_harmless_while_spark_pushes_nothing(read: Read) -> None:
    assert read(push_filters=True).where("path = 't/000500'").count() == 1


def test_ranges_that_are_left_out_are_not_read(lake: Lake) -> None:
    def blobs_read(**options: Any) -> int:
        """How often planning and all tasks together read a node or a range."""
        here = opened(Connection(lake.url))
        counted = Counted(CountingBlobs(here.blobs.at(lake.repo.storage_namespace)))
        graveler = Graveler(replace(here, blobs=counted, ranges=TreeCache()))
        relation = planned(graveler, read_source(lake.options(ref="v1", **options)))
        for part in relation.parts(graveler):
            assert all(batch.num_rows for batch in relation.read(graveler, part, wanted(ENTRIES, ENTRIES)))
        return counted.blobs.calls["read"]

    assert blobs_read(prefix="t/00000") == blobs_read(from_="t/000500", to="t/000501") == 2  # the root and a range
    assert 2 < blobs_read(from_="t/030000") < blobs_read()


@dataclass(frozen=True)
class Counted:
    """The objects of one repository, calls counted."""

    blobs: CountingBlobs

    def at(self, namespace_uri: str) -> CountingBlobs:
        return self.blobs
