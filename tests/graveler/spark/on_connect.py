"""What works on Spark Connect. `test_connect` runs it: a process holds sessions of one kind, of Connect or classic."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.session import local_settings
from graveler.spark.source import graveler_read, register
from graveler.spark.staging import stage_dataframe
from graveler_core import connect
from graveler_core.engine.importing import on_cluster as spreading
from graveler_core.errors import Conflict, Kind, Unavailable
from graveler_core.facade.repository import Repository
from tests.graveler.spark import toy_work
from tests.graveler.spark.engines import Engines, table
from tests.graveler.spark.source.lakes import Lake, Read
from tests.graveler.spark.test_imports_on_spark import inventory


@pytest.fixture(scope="module")
def spark() -> Iterator[SparkSession]:
    """A client of a server that stands in this process's JVM, as `remote("local[2]")` makes it."""
    settings = local_settings()
    master = settings.pop("spark.master")
    builder = SparkSession.builder.remote(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what the server was begun with, a client may not set again
        session = builder.getOrCreate()
    assert type(session).__module__ == "pyspark.sql.connect.session"
    register(session)
    yield session
    session.stop()


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[Lake]:
    """At `v1`: a, b. At main: b changed, c added, one more staged."""
    url = f"sqlite:///{tmp_path / 'meta.db'}?durability=process"
    with connect(url) as graveler:
        repo = graveler.create_repository("lake", (tmp_path / "a lake, 100 % real").as_uri())
        main = repo.branch("main")
        main.put("t/k=1/a.csv", b"1,x\n")
        main.put("t/k=2/b.csv", b"2,y\n")
        main.commit("first", committer="ada")
        repo.create_tag("v1", "main")
        main.put("t/k=2/b.csv", b"3,z\n4,z\n")
        main.put("t/k=3/c.csv", b"5,w\n")
        main.commit("second", committer="grace", metadata={"run": "7"})
        main.put("staged", b"s")
        yield Lake(url, repo)


@pytest.fixture
def read(spark: SparkSession, lake: Lake) -> Read:
    def load(**options: object) -> DataFrame:
        return spark.read.format("graveler").options(**lake.options(**options)).load()

    return load


def messages(repo: Repository, ref: str = "main") -> list[str]:
    return [commit.message for commit in repo.log(ref)]


def test_relations(lake: Lake, read: Read) -> None:
    held = read(ref="main").select("path", "size").orderBy("path").collect()
    assert held == [Row(path=e.path, size=e.size) for e in lake.repo.at("main").list()]
    assert read(ref="v1", prefix="t/k=2/").count() == 1
    found = read(relation="diff", left="v1", right="main@").selectExpr("path", "kind", "after.size AS size")
    assert found.orderBy("path").collect() == [("t/k=2/b.csv", "changed", 8), ("t/k=3/c.csv", "added", 4)]
    log = read(relation="log").select("commit_id", "committer", "metadata").collect()
    assert log == [(c.id, c.committer, dict(c.metadata)) for c in lake.repo.log("main")]
    assert [row.name for row in read(relation="branches").collect()] == ["main"]
    assert [(row.name, row.commit_id) for row in read(relation="tags").collect()] == [("v1", log[1].commit_id)]


def test_filters(spark: SparkSession, read: Read) -> None:
    for pushed in ("false", "true"):
        spark.conf.set("spark.sql.python.filterPushdown.enabled", pushed)
        assert read(push_filters=True).where("path = 't/k=1/a.csv' AND size > 0").count() == 1
        assert read().where("path LIKE 't/%' AND path NOT LIKE '%c.csv'").count() == 2
    spark.conf.unset("spark.sql.python.filterPushdown.enabled")


def test_a_commit_settles_what_is_shown(lake: Lake, read: Read) -> None:
    """The server loads a DataFrame when it is used, not in `load()`: a branch is what it is then."""
    branch, commit = read(ref="main@"), read(ref=lake.repo.commit("main").id)
    lake.repo.branch("main").commit("third")
    assert (branch.count(), commit.count()) == (4, 3)


def test_content(spark: SparkSession, lake: Lake) -> None:
    frame = graveler_read(spark, lake.repo, "v1", "t", "csv", schema="n INT, s STRING")
    assert frame.orderBy("n").collect() == [Row(n=1, s="x", k=1), Row(n=2, s="y", k=2)]
    assert graveler_read(spark, lake.options(), "main", "t/k=2", "csv").count() == 2


def test_writes(spark: SparkSession, lake: Lake) -> None:
    def write(frame: DataFrame, mode: str, **options: str) -> None:
        given = lake.options(branch="main", path="w", **options)
        frame.write.format("graveler").mode(mode).options(**given).save()

    write(spark.range(10).repartition(2), "append")
    write(spark.range(10, 13), "overwrite", idempotency_key="k")
    write(spark.range(10, 13), "overwrite", idempotency_key="k")
    write(spark.range(13, 15), "append", message="more")
    assert messages(lake.repo)[:4] == ["more", "Overwrite w", "Append to w", "second"]
    assert sorted(row.id for row in graveler_read(spark, lake.repo, "main", "w").collect()) == [10, 11, 12, 13, 14]
    assert [change.path for change in lake.repo.branch("main").uncommitted()] == ["staged"]
    with pytest.raises(Exception, match='use either the "Append" or "Overwrite" mode'):
        write(spark.range(1), "ignore")
    with pytest.raises(Exception, match="option 'foo': unknown for writes"):
        write(spark.range(1), "append", foo="x")


def test_streams(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    lake.repo.create_branch("copy", "main")

    def run() -> None:
        changes = spark.readStream.format("graveler").options(**lake.options(relation="changes", ref="main")).load()
        sink = {**lake.options(branch="copy", path="seen"), "checkpointLocation": str(tmp_path / "checkpoint")}
        query = changes.select("path", "kind").writeStream.format("graveler").options(**sink)
        query.trigger(availableNow=True).start().awaitTermination()

    run()
    lake.repo.branch("main").commit("third")
    run()
    seen = graveler_read(spark, lake.repo, "copy", "seen").collect()
    assert sorted(row.path for row in seen) == ["staged", "t/k=1/a.csv", "t/k=2/b.csv", "t/k=3/c.csv"]
    assert messages(lake.repo, "copy") == ["Append to seen", "Append to seen", "second", "first", "Repository created"]


def test_flows_are_those_of_the_engine_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are staged by the workers, a commit cut into partitions, an inventory sorted, a difference counted."""
    monkeypatch.setattr(spreading, "FIRST", 500)
    engines = Engines(spark, tmp_path, rows_per_task=5_000, threshold=10_000)
    listed = inventory(tmp_path / "inventory", 12_000, files=2)

    def told() -> None:
        assert engines.report.engine == "spark"
        engines.report.begin()

    def flows(repository: Repository, chance: random.Random) -> None:
        main, given = repository.branch("main"), table(chance.sample(range(60_000), 30_000), 1)
        on_spark = repository is engines.spark
        engines.report.begin()
        if on_spark:
            stage_dataframe(spark.createDataFrame(given), main, partitions=3)
            told()
        else:
            main.stage_many(given)
        for step in (
            lambda: main.commit("Some"),
            lambda: repository.import_inventory(listed, "s3://bucket/raw", "main", "in"),
        ):
            step()
            if on_spark:
                told()

    engines.both(flows, 1)
    engines.assert_equal("main")
    counted = [repo.diff_summary("main~2", "main") for repo in (engines.alone, engines.spark)]
    assert counted[0] == counted[1]
    assert (counted[0].added, engines.report.engine) == (42_000, "spark")
    engines.stores.close()


def test_errors_of_workers_arrive_as_they_were(spark: SparkSession, lake: Lake) -> None:
    cluster = SparkCluster(spark, Connection(lake.url))
    assert list(cluster.map(toy_work.doubled, range(11))) == list(range(0, 22, 2))
    with pytest.raises(Conflict, match="item 3 is in the way") as raised:
        list(cluster.map(toy_work.refused, range(6)))
    assert raised.value.kind is Kind.MergeConflict
    assert "toy_work.py" in raised.value.__notes__[0]
    with pytest.raises(Exception, match="ArithmeticError: item 5"):
        list(cluster.map(toy_work.broken, [5]))


def test_progress_comes_while_tasks_run(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """The last item waits until the driver has told of the others."""
    sign, said = tmp_path / "told", list[str]()

    def say(line: str) -> None:
        said.append(line)
        if line.endswith("3 of 4 tasks of waiting for"):
            sign.touch()

    cluster = SparkCluster(spark, Connection(lake.url))
    cluster.report.begin(say)
    assert list(cluster.map(partial(toy_work.waiting_for, str(sign)), range(4))) == [0, 1, 2, 3]
    assert said[-1] == "4 of 4 tasks of waiting for"


def test_an_interrupt_ends_the_tasks(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """They would wait for ever, and leave no room for others."""

    def interrupted(line: str) -> None:
        raise KeyboardInterrupt

    cluster = SparkCluster(spark, Connection(lake.url))
    cluster.report.begin(interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(cluster.map(partial(toy_work.waiting_for, str(tmp_path / "never")), [3, 3]))
    cluster.report.begin()
    assert list(cluster.map(toy_work.doubled, [1])) == [2]


def test_workers_are_other_processes(spark: SparkSession, lake: Lake) -> None:
    [(process, head)] = SparkCluster(spark, Connection(lake.url)).map(toy_work.head_of_main, ["lake"])
    assert (process == os.getpid(), head) == (False, lake.repo.commit("main").id)


def test_a_session_that_is_closed_is_told(spark: SparkSession, lake: Lake) -> None:
    other = spark.newSession()
    other.client.close()  # type: ignore[attr-defined]
    with pytest.raises(Unavailable, match="session is stopped, or there is none"):
        list(SparkCluster(other, Connection(lake.url)).map(toy_work.doubled, [1]))
