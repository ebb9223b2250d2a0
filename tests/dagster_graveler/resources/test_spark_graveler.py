"""The connection with Spark behind it: no session before work asks for one, and what is decided is told."""

from pathlib import Path

import dagster as dg
import pyarrow as pa
import pytest
from dagster_pyspark import LazyPySparkResource
from pyspark.sql import SparkSession

from dagster_graveler.jobs.versioning import make_versioning_jobs
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.resources.spark_graveler import SparkGravelerResource
from graveler.spark.cluster import SparkCluster
from graveler_core import connect
from graveler_core.errors import InvalidInput
from tests.graveler.spark import toy_work


@pytest.fixture
def url(tmp_path: Path) -> str:
    made = f"sqlite:///{tmp_path}/meta.db"
    connect(made).close()
    return made


@pytest.fixture
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    def started(config: object) -> SparkSession:
        raise AssertionError("a session was started")

    monkeypatch.setattr("dagster_pyspark.resources.spark_session_from_config", started)


def resource(url: str, **sizes: int) -> SparkGravelerResource:
    return SparkGravelerResource(url=url, pyspark=LazyPySparkResource(spark_config={}), **sizes)


def test_ops_share_its_cluster_and_start_no_session(url: str, no_session: None, tmp_path: Path) -> None:
    said: list[str] = []

    @dg.op
    def decides(graveler: GravelerResource, branch: GravelerBranch) -> None:
        for opened in (graveler, branch.graveler):
            report = opened.report(said.append, "merge")
            cluster = opened.graveler()._stores.cluster
            assert cluster is not None
            assert [cluster.tasks(rows) for rows in (9, 10, 11)] == [1, 5, 6]
            assert report.facts() == {"engine": "spark", "rows planned": 11, "spark from rows": 10, "tasks": 6}

    given = resource(url, threshold=10, rows_per_task=2)
    branch = GravelerBranch(graveler=given, repository="lake", storage_root=tmp_path.as_uri())

    @dg.job(resource_defs={"graveler": given, "branch": branch})
    def once() -> None:
        decides()

    assert once.execute_in_process().success
    assert said[0] == "merge: processing about 9 rows in this process (Spark is used from 10 rows)"


def test_work_that_is_large_starts_the_session(url: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagster_pyspark.resources.spark_session_from_config", lambda _: spark)
    with resource(url).graveler() as opened:
        cluster = opened._stores.cluster
        assert isinstance(cluster, SparkCluster)
        assert list(cluster.map(toy_work.doubled, [1, 2])) == [2, 4]


def test_a_large_commit_is_made_by_spark_and_says_so(
    url: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("dagster_pyspark.resources.spark_session_from_config", lambda _: spark)
    with connect(url) as graveler:
        main = graveler.create_repository("lake", (tmp_path / "lake").as_uri()).branch("main")
        paths = [f"{number:05}" for number in range(3_000)]
        main.stage_many(pa.table({"key": paths, "address": paths, "size": [1] * 3_000, "checksum": paths}))
    job, *_ = make_versioning_jobs(resource(url, threshold=1_000, rows_per_task=1_000))
    result = job.execute_in_process(
        run_config={"ops": {"commit": {"config": {"repository": "lake", "branch": "main", "message": "Many"}}}}
    )
    (output,) = result.filter_events(lambda event: event.is_successful_output)
    said = {name: value.value for name, value in output.step_output_data.metadata.items()}
    assert [said[name] for name in ("engine", "rows planned", "spark from rows", "tasks")] == [
        "spark",
        3_000,
        1_000,
        3,
    ]
    with connect(url) as graveler:
        assert graveler.repository("lake").commit("main").id == said["commit"]


def test_a_store_in_memory_is_refused(no_session: None) -> None:
    with pytest.raises(InvalidInput, match="exists in one process"):
        resource("memory://").graveler()


def test_without_spark_everything_is_done_here(url: str) -> None:
    made = GravelerResource(url=url)
    assert made.graveler()._stores.cluster is None
    assert made.report(lambda _: None, "commit").facts() == {"engine": "local"}
