"""The job for the content of removed repositories: a report unless it is told to delete, and what it tells."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.jobs.namespaces import make_namespaces_job, make_namespaces_schedule
from dagster_graveler.ops.namespaces import OP
from dagster_graveler.resources.graveler import GravelerResource
from graveler_core.errors import Unavailable
from graveler_core.facade.graveler import Graveler
from orchestration.local import Installation
from tests.dagster_graveler.ops.results import ran, retried, said
from tests.dagster_installation import FailOnce

DELETE = {"dry_run": False, "grace_hours": 0.0, "alone": True}


@pytest.fixture
def content(installation: Installation, graveler: Graveler) -> Path:
    """Directory with two objects of a repository that was deleted and cleaned."""
    repo = graveler.create_repository("old", f"{installation.data}/old")
    for path in ("a", "b"):
        repo.branch("main").put(path, b"1234")
    repo.branch("main").commit("two files")
    graveler.delete_repository("old")
    graveler.clean(undelete_within=timedelta(0), late=timedelta(0))
    return Path(repo.storage_namespace.removeprefix("file://")) / "data"


def emptied(instance: dg.DagsterInstance, config: dict[str, Any] | None = None) -> dg.ExecuteInProcessResult:
    job = make_namespaces_job(GravelerResource(url=dg.EnvVar("GRAVELER_STORE")))
    return ran(job, instance, {OP: config} if config else None)


def test_it_only_reports_by_default(instance: dg.DagsterInstance, content: Path) -> None:
    for _ in range(2):
        shown = said(emptied(instance))
        assert shown["outcome"].startswith("Dry run: nothing was changed. There are ")
        assert shown["outcome"].endswith(" to delete in 1 namespace of removed repositories.")
        assert shown["objects would be deleted"] >= 2
        assert "| old | `file://" in shown["states"]
    assert len(list(content.iterdir())) == 2


def test_it_deletes_and_releases(
    instance: dg.DagsterInstance, content: Path, graveler: Graveler, installation: Installation
) -> None:
    shown = said(emptied(instance, DELETE))
    assert (shown["namespaces"], shown["dry run"]) == (1, False)
    assert shown["objects deleted"] >= 2
    assert "| released |" in shown["states"]
    assert not [path for path in content.parent.rglob("*") if path.is_file()]
    graveler.create_repository("new", f"{installation.data}/old")
    again = said(emptied(instance, DELETE))
    assert (again["outcome"], again["namespaces"]) == ("No repository was removed whose content is left.", 0)
    assert "states" not in again


def test_it_waits_for_the_grace_period(instance: dg.DagsterInstance, content: Path) -> None:
    shown = said(emptied(instance, {"dry_run": False}))
    assert shown["objects deleted"] == 0
    assert "| emptying | 20" in shown["states"], "the time of the next step"
    assert len(list(content.iterdir())) == 2


def test_a_short_grace_is_refused_and_failures_are_retried(
    instance: dg.DagsterInstance, content: Path, fail_once: FailOnce
) -> None:
    refused = emptied(instance, {"dry_run": False, "grace_hours": 1.0})
    assert not refused.success
    assert not retried(refused)
    fail_once(Graveler, "empty_namespaces", Unavailable("away"))
    result = emptied(instance)
    assert result.success
    assert retried(result) == 1


def test_the_schedule_is_daily() -> None:
    schedule = make_namespaces_schedule(make_namespaces_job(GravelerResource(url="memory://")))
    assert (schedule.name, schedule.cron_schedule) == ("namespaces_schedule", "0 4 * * *")
    assert schedule.default_status is dg.DefaultScheduleStatus.RUNNING
