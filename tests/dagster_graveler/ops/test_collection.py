"""The collection job: a report unless it is told to delete, what it tells, and what it does with failures."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dagster_graveler.jobs.collection import make_collection_job, make_collection_schedule
from dagster_graveler.jobs.sweep import make_sweep_job
from dagster_graveler.ops.collection import OP
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import CHECK, storage_key
from graveler_core.errors import CorruptData, SlowDown, Unavailable
from graveler_core.facade.repository import Repository
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce

DELETE = {"dry_run": False, "grace_hours": 0.0, "alone": True}


@pytest.fixture
def objects(installation: Installation, lake: Repository) -> Path:
    """Three objects of a month ago: one that a commit names, and two that were overwritten."""
    main = lake.branch("main")
    for content in (b"old", b"older", b"kept"):
        main.put("a", content)
    main.commit("one file")
    directory = installation.root / "data" / "lake" / "data"
    month_ago = time.time() - timedelta(days=30).total_seconds()
    for path in directory.iterdir():
        os.utime(path, (month_ago, month_ago))
    return directory


def collect(instance: dg.DagsterInstance, config: dict[str, Any] | None = None, **options: Any) -> Any:
    job = make_collection_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), "lake", **options)
    return ran(job, instance, None if config is None else {OP: {"repository": "lake", **config}})


def told(instance: dg.DagsterInstance) -> dict[str, Any]:
    """The metadata of the last materialization of the asset."""
    event = instance.get_latest_materialization_event(storage_key("lake"))
    assert event is not None
    assert event.asset_materialization is not None
    return {name: value.value for name, value in event.asset_materialization.metadata.items()}


def checked(instance: dg.DagsterInstance) -> dg.AssetCheckEvaluation:
    key = dg.AssetCheckKey(storage_key("lake"), CHECK)
    record = instance.event_log_storage.get_latest_asset_check_execution_by_key([key])[key]
    assert record.event is not None
    assert record.event.dagster_event is not None
    return record.event.dagster_event.asset_check_evaluation_data


def test_it_changes_nothing_unless_it_is_told_to(instance: dg.DagsterInstance, objects: Path) -> None:
    for _ in range(2):
        shown = said(collect(instance))
        assert shown["outcome"] == (
            "Dry run: nothing was changed. A collection would delete 0 objects (0 bytes) and condemn 2 objects "
            "(8 bytes)."
        )
        assert (shown["dry run"], shown["objects would be condemned"], shown["bytes would be condemned"]) == (
            True,
            2,
            8,
        )
        assert "objects deleted" not in shown
    assert len(list(objects.iterdir())) == 3


def test_it_condemns_and_waits(instance: dg.DagsterInstance, objects: Path) -> None:
    shown = said(collect(instance, dry_run=False))
    assert shown["outcome"].startswith(
        "Deleted 0 objects (0 bytes) and condemned 2 objects (8 bytes). Condemned earlier or now: 2 objects (8 bytes). "
    )
    assert (shown["objects condemned"], shown["objects waiting"], shown["bytes waiting"]) == (2, 2, 8)
    assert shown["due"] == pytest.approx(time.time() + timedelta(days=7).total_seconds(), abs=600)
    assert told(instance)["reclaimable bytes"] == 8
    again = said(collect(instance))
    assert (again["objects would be deleted"], again["objects waiting"]) == (0, 2)
    assert len(list(objects.iterdir())) == 3


def test_it_deletes_what_is_due(instance: dg.DagsterInstance, lake: Repository, objects: Path) -> None:
    shown = said(collect(instance, DELETE))
    assert shown["outcome"] == "Deleted 2 objects (8 bytes) and condemned 2 objects (8 bytes)."
    assert (shown["objects deleted"], shown["bytes deleted"]) == (2, 8)
    (uri,) = shown["files of the deleted objects"]
    assert sum(pq.read_table(uri)["size"].to_pylist()) == 8
    assert [path.read_bytes() for path in objects.iterdir()] == [b"kept"]
    assert lake.at("main").read("a") == b"kept"
    assert (told(instance)["bytes"], told(instance)["reclaimable bytes"]) == (4, 0)
    assert checked(instance).passed


def test_it_reads_an_inventory(instance: dg.DagsterInstance, objects: Path, tmp_path: Path) -> None:
    """It lists one of the two objects that nothing names, and so only this one is condemned."""
    lost = next(path for path in objects.iterdir() if path.read_bytes() == b"old")
    moment = datetime.fromtimestamp(lost.stat().st_mtime, UTC)
    rows = {"key": [str(lost).removeprefix("/")], "size": [3], "last_modified_date": [moment]}
    pq.write_table(pa.table(rows), tmp_path / "inventory.parquet")
    result = collect(instance, inventory=(tmp_path / "inventory.parquet").as_uri())
    assert said(result, OP)["objects would be condemned"] == 1
    assert said(result, OP)["engine"] == "local"


def test_two_runs_at_once_do_no_harm(lake: Repository, objects: Path) -> None:
    """Of collections and sweeps, as when a schedule starts a run while somebody else has started one."""

    def run(job: str) -> bool:
        with dg.DagsterInstance.ephemeral() as own:
            if job == "collection":
                return bool(collect(own, DELETE).success)
            return ran(make_sweep_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), "lake"), own).success

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, ["collection", "sweep"] * 2)) == [True] * 4
    assert [path.read_bytes() for path in objects.iterdir()] == [b"kept"]
    assert lake.at("main").read("a") == b"kept"


@pytest.mark.parametrize(("share", "passed"), [(0.6, False), (0.7, True)])
def test_the_asset_and_its_check_get_the_result(
    instance: dg.DagsterInstance, objects: Path, *, share: float, passed: bool
) -> None:
    collect(instance, share=share)
    assert (told(instance)["bytes"], told(instance)["reclaimable bytes"]) == (12, 8)
    assert "| without a name: a collection would condemn them | 2 | 8 |" in told(instance)["objects"]
    check = checked(instance)
    assert (check.passed, check.severity) == (passed, dg.AssetCheckSeverity.WARN)
    assert check.description == f"67% of the content can be reclaimed: 8 of 12 bytes. Allowed: {share:.0%}."


def test_a_repository_that_does_not_exist_yet_has_nothing_to_collect(
    instance: dg.DagsterInstance, installation: Installation
) -> None:
    result = collect(instance)
    assert result.success
    assert said(result)["outcome"] == "Repository lake does not exist yet, so there is nothing to collect."
    assert instance.get_latest_materialization_event(storage_key("lake")) is None


@pytest.mark.parametrize("error", [SlowDown("busy"), Unavailable("away")], ids=lambda e: type(e).__name__)
def test_a_store_that_is_away_is_tried_again(
    instance: dg.DagsterInstance, objects: Path, fail_once: FailOnce, error: Exception
) -> None:
    calls = fail_once(Repository, "collect", error, after=True)
    result = collect(instance, DELETE)
    assert result.success
    assert (retried(result), len(calls)) == (1, 2)
    assert said(result)["retries"] == 1
    assert len(list(objects.iterdir())) == 1


def test_a_damaged_repository_fails_at_once(instance: dg.DagsterInstance, objects: Path, fail_once: FailOnce) -> None:
    fail_once(Repository, "collect", CorruptData("a range is missing"))
    result = collect(instance)
    assert not result.success
    assert retried(result) == 0


def test_a_short_grace_is_refused_while_others_may_work(instance: dg.DagsterInstance, objects: Path) -> None:
    result = collect(instance, {"grace_hours": 1.0})
    (failure,) = result.filter_events(lambda event: event.is_step_failure)
    assert "shorter than 1 day" in failure.step_failure_data.user_failure_data.description
    assert retried(result) == 0


def test_the_schedule_is_on_and_runs_daily() -> None:
    job = make_collection_job(GravelerResource(url="memory://"), "my-lake")
    schedule = make_collection_schedule(job)
    assert (schedule.name, schedule.cron_schedule) == ("my_lake_collection_schedule", "30 3 * * *")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    given: Any = job.run_config
    assert given["ops"][OP]["config"] == {
        "repository": "my-lake",
        "dry_run": True,
        "grace_hours": 168.0,
        "allowed_share": 0.2,
    }
