"""Streams: each change once, in batches of commits; each batch committed once, also when it is written again."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.datasource import ReadAllAvailable

from graveler.spark.connection import Connection, opened
from graveler.spark.source import graveler_read, register
from graveler.spark.source.columns import CHANGES
from graveler.spark.source.options import read_source
from graveler.spark.source.streaming import StreamReader, stream_reader
from graveler_core import connect
from graveler_core.model.ids import CommitId
from tests.graveler.spark.source.lakes import Lake


@pytest.fixture(autouse=True)
def registered(spark: SparkSession) -> None:
    register(spark)


def commit(lake: Lake, *paths: str, removed: str = "") -> str:
    main = lake.repo.branch("main")
    for path in paths:
        main.put(path, path.encode())
    if removed:
        main.remove(removed)
    return main.commit(" ".join(paths) or removed).id


def changes(spark: SparkSession, lake: Lake, **options: Any) -> DataFrame:
    given = lake.options(relation="changes", ref="main", **options)
    return spark.readStream.format("graveler").options(**given).load()


def collected(frame: DataFrame, checkpoint: Path) -> list[tuple[int, list[tuple[str, str]]]]:
    """What is new since the checkpoint: batches of (path, kind)."""
    batches: list[tuple[int, list[tuple[str, str]]]] = []

    def keep(batch: DataFrame, number: int) -> None:
        batches.append((number, sorted((row.path, row.kind) for row in batch.collect())))

    writer = frame.writeStream.foreachBatch(keep).option("checkpointLocation", str(checkpoint))
    writer.trigger(availableNow=True).start().awaitTermination()
    return batches


def test_each_change_is_read_once(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    commit(place, "a", "b")
    commit(place, "c", removed="a")
    place.repo.branch("main").put("staged", b"x")
    frame = changes(spark, place)
    assert collected(frame, tmp_path / "c") == [(0, [("b", "added"), ("c", "added")])]
    assert collected(frame, tmp_path / "c") == []
    place.repo.branch("main").reset()
    commit(place, "d", removed="b")
    place.repo.create_branch("dev", "main").put("e", b"e")
    place.repo.branch("dev").commit("e")
    place.repo.merge("dev", into="main")
    assert collected(frame, tmp_path / "c") == [(1, [("b", "removed"), ("d", "added"), ("e", "added")])]
    place.repo.branch("main").hard_reset("main~1")
    assert collected(frame, tmp_path / "c") == [(2, [("e", "removed")])]


def test_batches_of_a_few_commits(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    first = commit(place, "t/a")
    commit(place, "t/b", "u/b")
    commit(place, "t/c")
    frame = changes(spark, place, max_commits=2, prefix="t/", since=first)
    commit(place, "t/d")
    assert collected(frame, tmp_path / "c") == [
        (0, [("t/b", "added"), ("t/c", "added")]),
        (1, [("t/d", "added")]),
    ]


def reader(lake: Lake, **options: Any) -> StreamReader:
    return stream_reader(read_source(lake.options(relation="changes", **options)), CHANGES)


def test_offsets_follow_first_parents(place: Lake) -> None:
    ids = [commit(place, name) for name in "abcde"]
    root = place.repo.commit("main~5").id

    def after(start: str, most: int) -> str:
        return reader(place, max_commits=most).latestOffset({"commit": start}, ReadAllAvailable())["commit"]

    assert [after(ids[0], most) for most in (1, 2, 4, 9)] == [ids[1], ids[2], ids[4], ids[4]]
    assert [after("", most) for most in (1, 2, 9)] == [root, ids[0], ids[4]]
    assert after(ids[4], 1) == ids[4]
    place.repo.create_branch("dev", "main~3").put("x", b"x")
    elsewhere = place.repo.branch("dev").commit("x").id
    assert after(elsewhere, 1) == ids[4]
    assert reader(place).initialOffset() == {"commit": "", "after": ""}
    assert reader(place, since="main~1").initialOffset() == {"commit": ids[3], "after": ids[3]}
    assert reader(place).partitions({"commit": ids[4]}, {"commit": ids[4]}) == []


def test_a_batch_that_is_read_again_is_the_same(place: Lake) -> None:
    first, second = commit(place, "a"), commit(place, "b")
    at = reader(place)

    def rows(start: str, end: str) -> list[tuple[str, str, str]]:
        found = [batch for part in at.partitions({"commit": start}, {"commit": end}) for batch in at.read(part)]
        return [(r["commit_id"], r["path"], r["kind"]) for batch in found for r in batch.to_pylist()]

    wanted = [(second, "b", "added")]
    assert rows(first, second) == wanted
    commit(place, "c", removed="b")
    assert rows(first, second) == wanted
    assert rows("", second) == [(second, "a", "added"), (second, "b", "added")]
    assert opened(Connection(place.url)) is opened(Connection(place.url))
    assert CommitId(second) in {entry.id for entry in place.repo.log("main")}


@pytest.mark.parametrize("since", ["main~1", "main"])
def test_the_first_batch_is_the_same_although_its_ref_has_moved(place: Lake, since: str) -> None:
    commit(place, "a")
    commit(place, "b")

    def rows(start: dict[str, str], end: dict[str, str]) -> list[tuple[str, str]]:
        at = reader(place, since=since)
        found = [batch for part in at.partitions(start, end) for batch in at.read(part)]
        return sorted((row["path"], row["kind"]) for batch in found for row in batch.to_pylist())

    start = reader(place, since=since).initialOffset()
    end = reader(place, since=since).latestOffset(start, ReadAllAvailable())
    wanted = [("b", "added")] if since == "main~1" else []
    assert rows(start, end) == wanted
    commit(place, "c")
    again = reader(place, since=since).initialOffset()
    assert again != start
    assert rows(again, end) == wanted
    following = reader(place, since=since).latestOffset(end, ReadAllAvailable())
    assert rows(end, following) == [("c", "added")]
    assert reader(place, since=since).latestOffset(following, ReadAllAvailable()) == following


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"relation": "entries"}, "must be 'changes' for a stream, but is 'entries'"),
        ({"relation": "changes", "max_commits": "0"}, "'max_commits': must be a whole number"),
        ({"relation": "changes", "right": "main"}, "option 'right': unknown for relation changes"),
    ],
)
def test_wrong_options(spark: SparkSession, place: Lake, tmp_path: Path, options: dict[str, str], message: str) -> None:
    def read() -> None:
        frame = spark.readStream.format("graveler").options(**place.options(**options)).load()
        collected(frame, tmp_path / "c")

    with pytest.raises(Exception, match=message):
        read()


def test_a_batch_is_committed_once(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    place.repo.create_branch("copy", "main")

    def run() -> None:
        target = place.options(branch="copy", path="seen", committer="stream")
        writer = changes(spark, place, max_commits=1).select("path", "kind").writeStream.format("graveler")
        checkpointed = writer.options(**target).option("checkpointLocation", str(tmp_path / "c"))
        checkpointed.trigger(availableNow=True).start().awaitTermination()

    commit(place, "a")
    commit(place, "b", "c")
    run()
    log = [entry for entry in place.repo.log("copy") if entry.committer == "stream"]
    assert [entry.metadata["spark.batch"] for entry in log] == ["2", "1"]  # the first of three commits is empty
    (tmp_path / "c" / "commits" / "2").unlink()
    (tmp_path / "c" / "commits" / ".2.crc").unlink(missing_ok=True)
    run()
    assert [entry.id for entry in place.repo.log("copy") if entry.committer == "stream"] == [entry.id for entry in log]
    with connect(place.url) as graveler:
        assert graveler.clean(keys_for=timedelta(0)).keys > 0
    place.repo.branch("copy").put("other", b"x")
    place.repo.branch("copy").commit("Another head, and no idempotency key any more")
    (tmp_path / "c" / "commits" / "2").unlink()
    (tmp_path / "c" / "commits" / ".2.crc").unlink(missing_ok=True)
    run()
    commit(place, "d")
    run()
    found = graveler_read(spark, place.repo, "copy", "seen")
    assert sorted(row.path for row in found.collect()) == ["a", "b", "c", "d"]
    assert len({entry.metadata["spark.query"] for entry in log}) == 1


def test_a_complete_result_overwrites_the_one_before(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    place.repo.create_branch("copy", "main")
    commit(place, "a")
    commit(place, "b")
    counts = changes(spark, place, max_commits=1).groupBy("kind").count()
    writer = (
        counts.writeStream.format("graveler").outputMode("complete").option("checkpointLocation", str(tmp_path / "c"))
    )
    target = place.options(branch="copy", path="counts")
    writer.options(**target).trigger(availableNow=True).start().awaitTermination()
    assert [tuple(row) for row in graveler_read(spark, place.repo, "copy", "counts").collect()] == [("added", 2)]


def test_a_sink_with_wrong_options(spark: SparkSession, place: Lake, tmp_path: Path) -> None:
    commit(place, "a")
    writer = changes(spark, place).writeStream.format("graveler").option("checkpointLocation", str(tmp_path / "c"))
    given = place.options(branch="main", path="x", idempotency_key="k")
    with pytest.raises(StreamingQueryException, match="option 'idempotency_key': unknown for streams"):
        writer.options(**given).trigger(availableNow=True).start().awaitTermination()
