"""Publications that broke: the sensor requests them again, at a slower pace and not for ever."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import dagster as dg
import pytest

from dagster_graveler.publishing import ops, publish_requests
from graveler_core.errors import Unavailable
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import PUBLISH
from tests.dagster_graveler.publishing.test_kept_branches import tick
from tests.dagster_installation import FailOnce


def wait(lake: Lake, request: dg.RunRequest) -> dg.DagsterRun:
    """Create the requested run, as the daemon does, and leave it in the queue."""
    alone = dg.define_asset_job("alone", [PUBLISH])
    job = dg.Definitions.merge(lake.definitions, dg.Definitions(jobs=[alone])).resolve_job_def("alone")
    return lake.instance.create_run_for_job(job, tags=dict(request.tags), asset_selection=frozenset([PUBLISH]))


def test_a_publication_that_broke_is_requested_again(
    lake: Lake, fail_once: FailOnce, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ops, "RETRIES", None)
    lake.use()
    fail_once(Repository, "merge", Unavailable("the store is away"))
    assert not lake.run().success
    result = tick(lake)
    assert not result.asset_events
    (request,) = result.run_requests or ()
    assert lake.run(PUBLISH, tags=request.tags).success
    assert lake.published("weather") == ["weather row"]
    assert lake.branches() == []


def test_publications_that_end_without_a_verdict_are_requested_a_limited_number_of_times(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publish_requests, "_FIRST_PAUSE", timedelta(0))
    monkeypatch.setattr(publish_requests, "_MOST", 2)
    lake.use(publish="asset", keep_for=timedelta(0))
    assert lake.run("raw").success
    keys = []
    for end in ("report_run_failed", "report_run_canceled"):
        (request,) = tick(lake).run_requests or ()
        keys.append(request.run_key)
        run = wait(lake, request)
        assert not tick(lake).run_requests  # the run is in the queue
        getattr(lake.instance, end)(run)
    assert len(set(keys)) == 2
    result = tick(lake)
    assert not result.run_requests
    (event,) = result.asset_events
    assert f"2 runs that should have published it broke: see run {run.run_id}" in str(event.description)
    assert "1 deleted" in str(tick(lake).skip_message)


def test_new_writes_begin_a_new_series_of_requests(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publish_requests, "_MOST", 1)
    lake.use(publish="asset")
    assert lake.run("raw").success
    (request,) = tick(lake).run_requests or ()
    lake.instance.report_run_failed(wait(lake, request))
    assert len(tick(lake).asset_events) == 1
    assert lake.run("raw", raw=["new"]).success
    (again,) = tick(lake).run_requests or ()
    assert again.run_key != request.run_key


def test_a_broken_publication_is_left_alone_for_a_pause(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.use(publish="asset")
    assert lake.run("raw").success
    (request,) = tick(lake).run_requests or ()
    lake.instance.report_run_failed(wait(lake, request))
    result = tick(lake)
    assert (result.run_requests or [], result.asset_events) == ([], [])
    with monkeypatch.context() as ended_by_a_clock_far_ahead:
        ended_by_a_clock_far_ahead.setattr(publish_requests, "time", SimpleNamespace(time=lambda: 0.0))
        assert len(tick(lake).run_requests or ()) == 1
    monkeypatch.setattr(publish_requests, "_FIRST_PAUSE", timedelta(0))
    assert len(tick(lake).run_requests or ()) == 1
