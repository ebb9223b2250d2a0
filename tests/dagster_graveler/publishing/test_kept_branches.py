"""The sensor over kept branches: what it publishes, reports and deletes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import dagster as dg
import pytest
import time_machine
from dagster._core.definitions.sensor_definition import SensorExecutionData

from dagster_graveler.publishing import kept_branches, ops
from dagster_graveler.run_tags import MARKED_TAG, PUBLICATION_TAG
from tests.dagster_graveler.publishing import small_lake
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH, TABLES
from tests.dagster_graveler.publishing.test_partial_runs import only_checks


def tick(lake: Lake, cursor: str | None = None) -> SensorExecutionData:
    """Run a tick, and store its events as the daemon does."""
    (sensor,) = lake.definitions.sensors or ()
    assert isinstance(sensor, dg.SensorDefinition)
    branch = (lake.definitions.resources or {})["branch"]
    with dg.build_sensor_context(lake.instance, cursor=cursor, resources={"branch": branch}) as context:
        result = sensor.evaluate_tick(context)
    for event in result.asset_events:
        assert not isinstance(event, dg.AssetCheckEvaluation)
        lake.instance.report_runless_asset_event(event)
    return result


def test_a_refused_branch_is_reported_once_with_the_reason_and_what_to_do(lake: Lake) -> None:
    assert not lake.run(cleaned=["bad"]).success
    (kept,) = lake.branches()
    first = tick(lake)
    assert not first.run_requests
    (event,) = first.asset_events or ()
    assert event.asset_key == PUBLISH
    shown = {name: value.value for name, value in event.metadata.items()}
    assert shown["graveler/state"] == "kept"
    assert shown["graveler/branch"] == kept
    assert "check good of cleaned: failed" in str(shown["reason"])
    assert "re-execute from the step that writes the table" in str(shown["what to do"])
    again = tick(lake, first.cursor)
    assert not again.asset_events
    assert "1 kept branch of lake/main: 0 to publish, 0 newly reported" in str(again.skip_message)


def test_a_complete_branch_is_published(lake: Lake) -> None:
    assert lake.run("raw").success
    assert "table cleaned was not materialized on this branch" in str((tick(lake).asset_events or ())[0].description)
    assert lake.run("cleaned").success
    assert lake.run("weather").success
    (request,) = tick(lake).run_requests or ()
    (same,) = tick(lake).run_requests or ()
    assert request.run_key == same.run_key
    assert request.asset_selection == [PUBLISH]
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("weather") == ["weather row"]
    assert lake.branches() == []
    assert not tick(lake).run_requests


def test_the_publication_has_the_partitions_of_the_branch_although_a_later_run_has_none(lake: Lake) -> None:
    assert lake.run(*TABLES, checks=False).success
    (kept,) = lake.branches()
    assert only_checks(lake, None).success
    (request,) = tick(lake).run_requests or ()
    assert request.tags["dagster/partition"] == "2013-01"
    (of_checks,) = lake.instance.get_runs(limit=1)
    assert of_checks.tags["graveler/branch"] == kept


def test_single_tables_are_published_if_the_group_allows_it(lake: Lake) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (request,) = tick(lake).run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("raw") == ["raw row"]


def test_a_branch_that_lost_is_reported_and_not_requested_again(lake: Lake) -> None:
    for name in ("one", "two"):
        assert lake.run(*TABLES, tags={"graveler/branch": name}, raw=[name]).success
    assert lake.run(PUBLISH, tags={"graveler/branch": "one"}).success
    lost = lake.run(PUBLISH, tags={"graveler/branch": "two"})
    assert not lost.success
    result = tick(lake)
    assert not result.run_requests
    (event,) = result.asset_events or ()
    assert f"the run that should have published it did not succeed: see run {lost.run_id}" in str(event.description)


def test_a_failed_publication_during_the_repair_does_not_refuse_the_repaired_branch(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, publications = small_lake.rows, list[dg.ExecuteInProcessResult]()

    def repaired(table: str) -> list[str]:
        publications.append(lake.run(PUBLISH))
        return real(table)

    assert not lake.run(cleaned=["bad"]).success
    monkeypatch.setattr(small_lake, "rows", repaired)
    assert lake.run("cleaned").success
    assert [publication.success for publication in publications] == [False]
    (request,) = tick(lake).run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("cleaned") == ["raw row", "cleaned row"]


def test_an_old_branch_is_deleted_but_not_before_it_was_reported(lake: Lake) -> None:
    lake.use(keep_for=timedelta(0))
    assert not lake.run(cleaned=["bad"]).success
    assert len(tick(lake).asset_events or ()) == 1
    assert len(lake.branches()) == 1
    assert "1 deleted" in str(tick(lake).skip_message)
    assert lake.branches() == []


@pytest.mark.parametrize("commits", [False, True], ids=["staged", "committed"])
def test_an_old_branch_that_is_repaired_during_the_tick_is_not_deleted(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, commits: bool
) -> None:
    lake.use(keep_for=timedelta(0))
    assert not lake.run(cleaned=["bad"]).success
    (left,) = lake.branches()
    assert tick(lake).asset_events
    real = kept_branches._reported

    def reported(*args: Any) -> Any:
        if commits:
            branch = lake.repository.branch(left)
            branch.put("cleaned/2013-01/more", b"by a person")
            branch.commit("Repair")
        else:
            assert lake.run("cleaned").success
        return real(*args)

    with monkeypatch.context() as repaired:
        repaired.setattr(kept_branches, "_reported", reported)
        tick(lake)
    assert lake.branches() == [left]


def test_an_old_branch_that_a_run_joins_during_the_tick_is_not_deleted(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.use(keep_for=timedelta(0))
    left = lake.run(cleaned=["bad"]).dagster_run
    assert tick(lake).asset_events
    real = kept_branches._reported
    tags = {**lake.instance.get_runs()[0].tags, MARKED_TAG: "joined"}

    def reported(*args: Any) -> Any:
        lake.instance.add_run(left._replace(run_id="joined", tags=tags, status=dg.DagsterRunStatus.STARTED))
        return real(*args)

    monkeypatch.setattr(kept_branches, "_reported", reported)
    tick(lake)
    assert len(lake.branches()) == 1


def test_reports_from_before_the_runs_are_not_read(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    with time_machine.travel("2020-01-01 00:00 +0000"):
        for _ in range(5):
            lake.instance.report_runless_asset_event(dg.AssetObservation(PUBLISH))
    assert not lake.run(cleaned=["bad"]).success
    monkeypatch.setattr(kept_branches, "_REPORTS", 1)
    real, pages = dg.DagsterInstance.fetch_observations, []

    def fetch_observations(*args: Any, **options: Any) -> Any:
        pages.append(real(*args, **options))
        return pages[-1]

    monkeypatch.setattr(dg.DagsterInstance, "fetch_observations", fetch_observations)
    assert [len(tick(lake).asset_events) for _ in range(2)] == [1, 0]
    assert [len(page.records) for page in pages] == [0, 1]


def test_many_branches_are_each_reported_once_and_deleted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_branches, "_REPORTS", 1)
    lake.use(keep_for=timedelta(0))
    for name in ("one", "two", "three"):
        assert lake.run("raw", tags={"graveler/branch": name}).success
    assert len(tick(lake).asset_events or ()) == 3
    result = tick(lake)
    assert not result.asset_events
    assert "3 deleted" in str(result.skip_message)
    assert lake.branches() == []


def test_a_young_branch_and_branches_of_others_are_kept(lake: Lake) -> None:
    assert not lake.run(cleaned=["bad"]).success
    lake.repository.create_branch("by-hand", source="main")
    before = lake.branches()
    for _ in range(3):
        tick(lake)
    assert lake.branches() == before


def test_without_a_repository_the_tick_says_so(lake: Lake) -> None:
    assert tick(lake).skip_message == "repository lake does not exist yet"


def test_a_branch_whose_commits_change_nothing_is_deleted_after_one_publication(lake: Lake) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (kept,) = lake.branches()
    branch = lake.repository.branch(kept)
    branch.commit("Load")
    branch.remove_prefix("raw/")
    branch.commit("Take it back")
    (request,) = tick(lake).run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.metadata()["graveler/state"] == "nothing to publish"
    assert lake.branches() == []


@pytest.mark.parametrize("later", [False, True], ids=["alone", "with-a-later-run"])
def test_a_published_branch_that_another_run_used_at_the_end_is_deleted_by_the_next_tick(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, later: bool
) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (left,) = lake.branches()
    (request,) = tick(lake).run_requests or ()
    with monkeypatch.context() as used:
        used.setattr(ops, "is_in_use", lambda *_, **besides: True)
        assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.branches() == [left]
    if later:
        run = lake.instance.get_runs(limit=1)[0]
        tags = {name: value for name, value in run.tags.items() if name not in (PUBLICATION_TAG, MARKED_TAG)}
        lake.instance.add_run(run._replace(run_id="later", tags=tags))
    result = tick(lake)
    assert not result.run_requests
    assert not result.asset_events
    assert "1 deleted" in str(result.skip_message)
    assert lake.branches() == []


def test_a_published_branch_with_later_writes_is_not_deleted(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (request,) = tick(lake).run_requests or ()
    with monkeypatch.context() as used:
        used.setattr(ops, "is_in_use", lambda *_, **besides: True)
        assert lake.run(PUBLISH, tags=request.tags).success
    (left,) = lake.branches()
    assert lake.run("raw", tags={"graveler/branch": left}, raw=["new"]).success
    (request,) = tick(lake).run_requests or ()
    assert lake.branches() == [left]
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("raw") == ["new"]
    assert lake.branches() == []


def test_a_published_branch_that_cannot_be_deleted_is_reported_and_not_requested_again(lake: Lake) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (left,) = lake.branches()
    (request,) = tick(lake).run_requests or ()
    lake.repository.protect(left, ["force"])
    done = lake.run(PUBLISH, tags=request.tags)
    assert done.success
    result = tick(lake)
    assert not result.run_requests
    (event,) = result.asset_events
    assert f"its publication in run {done.run_id} succeeded, but the branch was not deleted" in str(event.description)
    assert not tick(lake).asset_events
    assert lake.branches() == [left]
