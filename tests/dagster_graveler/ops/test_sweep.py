"""The sweep job: what it deletes and tells, and what it leaves."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.jobs.sweep import make_sweep_job, make_sweep_schedule
from dagster_graveler.ops.sweep import OP
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import CorruptData, Unavailable
from graveler_core.facade.repository import Repository
from graveler_core.gc.sweep import Swept
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce


def sweep(instance: dg.DagsterInstance, **options: Any) -> dg.ExecuteInProcessResult:
    job = make_sweep_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")), "lake", **options)
    return ran(job, instance)


def test_it_deletes_what_nothing_refers_to(
    instance: dg.DagsterInstance, installation: Installation, lake: Repository
) -> None:
    """The tree of a compaction that was reset."""
    main = lake.branch("main")
    main.put("a", b"1")
    main.compact()
    main.reset()
    assert said(sweep(instance), OP)["outcome"] == "Deleted 0 items (0 bytes) that nothing refers to."
    for path in (installation.root / "data" / "lake").rglob("*"):
        if path.is_file():
            os.utime(path, (0, 0))
    found = lake.sweep(dry_run=True)
    assert found.blobs
    shown = said(sweep(instance), OP)
    assert (shown["files"], shown["bytes"], shown["dry run"]) == (found.blobs, found.size, False)
    assert lake.sweep(dry_run=True).blobs == 0


def test_what_it_deleted_is_told(
    instance: dg.DagsterInstance, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[dict[str, Any]] = []

    def swept(_: Repository, **options: Any) -> Swept:
        calls.append(options)
        return Swept(dry_run=options["dry_run"], objects=1, blobs=2, size=3_000, young=4, uploads=1)

    monkeypatch.setattr(Repository, "sweep", swept)
    shown = said(sweep(instance, grace=timedelta(days=2), uploads=False), OP)
    assert calls == [{"grace": timedelta(days=2), "dry_run": False, "uploads": False}]
    assert shown["outcome"] == "Deleted 3 items (3,000 bytes) that nothing refers to."
    assert (shown["objects"], shown["files"], shown["uploads of failed jobs"]) == (1, 2, 1)
    assert shown["kept because they are young"] == 4


def test_a_repository_that_does_not_exist_yet_has_nothing_to_sweep(
    instance: dg.DagsterInstance, installation: Installation
) -> None:
    result = sweep(instance)
    assert result.success
    assert said(result, OP)["outcome"] == "Repository lake does not exist yet, so there is nothing to sweep."


@pytest.mark.parametrize(("error", "attempts"), [(Unavailable("away"), 1), (CorruptData("a layout is damaged"), 0)])
def test_only_what_a_retry_can_fix_is_tried_again(
    instance: dg.DagsterInstance, lake: Repository, fail_once: FailOnce, error: Exception, attempts: int
) -> None:
    fail_once(Repository, "sweep", error)
    result = sweep(instance)
    assert (retried(result), result.success) == (attempts, attempts == 1)


def test_the_schedule_is_on_and_runs_daily() -> None:
    job = make_sweep_job(GravelerResource(url="memory://"), "my-lake")
    schedule = make_sweep_schedule(job)
    assert (schedule.name, schedule.cron_schedule) == ("my_lake_sweep_schedule", "0 3 * * *")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
    given: Any = job.run_config
    assert given["ops"][OP]["config"] == {"repository": "my-lake", "grace_hours": 168.0, "uploads": True}
