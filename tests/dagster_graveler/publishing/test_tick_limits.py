"""Limits of a tick of the sensor over kept branches: its time, and damage to one branch."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import uuid4

import dagster as dg
import pytest

from dagster_graveler.publishing import examination
from dagster_graveler.publishing.examination import BranchExamination
from dagster_graveler.run_tags import MARKED_TAG
from dagster_graveler.sensors import tick_time
from graveler_core.errors import CorruptData, GravelerError, Kind, NotFound, Unavailable
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from tests.dagster_graveler.publishing.conftest import Lake
from tests.dagster_graveler.publishing.small_lake import TABLES
from tests.dagster_graveler.publishing.test_kept_branches import tick


class SteppingClock:
    """A clock that moves only when it is told to."""

    now = 0.0
    step = 0.0
    """Seconds by which each look at the clock moves it."""

    def __call__(self) -> float:
        self.now += self.step
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SteppingClock:
    made = SteppingClock()
    monkeypatch.setattr(tick_time, "monotonic", made)
    return made


def keep(lake: Lake, *names: str) -> None:
    """Leave a refused branch with each name."""
    lake.use(publish="asset", keep_for=timedelta(0))
    for name in names:
        assert not lake.run("raw", tags={"graveler/branch": name}, raw=["bad"]).success


def test_a_tick_stops_in_time_and_the_next_one_goes_on(
    lake: Lake, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(lake, "one", "two")
    real = BranchExamination._ended_runs

    def slow(self: BranchExamination, *args: Any) -> Any:
        clock.now += tick_time.SECONDS + 1
        return real(self, *args)

    monkeypatch.setattr(BranchExamination, "_ended_runs", slow)
    cursor, reported = None, []
    for _ in ("main", "one", "two"):
        result = tick(lake, cursor)
        cursor = result.cursor
        reported.append(len(result.asset_events))
    assert reported == [0, 1, 1]
    assert cursor == '{"version":1,"after":""}'


def test_a_branch_that_takes_all_the_time_is_reported_and_not_deleted(lake: Lake, clock: SteppingClock) -> None:
    keep(lake, "one")
    first = tick(lake)  # looks at `main` too, and has time
    assert "check good of raw: failed" in str(first.asset_events[0].description)
    clock.step = tick_time.SECONDS + 1
    after_main = '{"version":1,"after":"main"}'
    (event,) = tick(lake, after_main).asset_events
    assert "could not examine it in 30 seconds" in str(event.description)
    assert "materialize lake/main/publish for partition 2013-01" in str(event.metadata["what to do"].value)
    assert not tick(lake, after_main).asset_events
    assert lake.branches() == ["one"]


def make_slow(clock: SteppingClock, monkeypatch: pytest.MonkeyPatch, query: str, seconds: float) -> None:
    """Make each query of one kind take some time."""
    real = getattr(dg.DagsterInstance, query)

    def made(*args: Any, **options: Any) -> Any:
        clock.now += seconds
        return real(*args, **options)

    monkeypatch.setattr(dg.DagsterInstance, query, made)


def leave_good(lake: Lake, name: str, *tables: str, runs: int = 1) -> None:
    """Leave a branch that is complete and checked, and that a number of runs used."""
    run = lake.run(*tables, tags={"graveler/branch": name}).dagster_run
    tags = {key: value for key, value in run.tags.items() if key != MARKED_TAG}
    for _ in range(runs - 1):
        lake.instance.add_run(run._replace(run_id=str(uuid4()), tags=tags, status=dg.DagsterRunStatus.SUCCESS))


@pytest.mark.parametrize(
    ("slow", "runs"),
    [(("all_logs", 1.0), 100), (("all_logs", 1.0), 20), (("fetch_materializations", 20.0), 1)],
    ids=["evidence-of-many-runs", "failures-of-many-runs", "many-tables"],
)
def test_a_branch_with_too_many_events_is_reported_and_the_next_one_is_published(
    lake: Lake, clock: SteppingClock, monkeypatch: pytest.MonkeyPatch, slow: tuple[str, float], runs: int
) -> None:
    lake.use(publish="asset")
    leave_good(lake, "a", *TABLES, runs=runs)
    leave_good(lake, "b", "raw")
    make_slow(clock, monkeypatch, *slow)
    first = tick(lake)
    assert clock.now <= tick_time.SECONDS + slow[1]
    (event,) = first.asset_events
    assert event.metadata["graveler/branch"].value == "a"
    assert "could not examine it in 30 seconds" in str(event.description)
    assert first.cursor == '{"version":1,"after":"a"}'
    (request,) = tick(lake, first.cursor).run_requests or ()
    assert request.tags["graveler/branch"] == "b"


def test_a_branch_with_too_many_runs_is_reported_and_its_runs_are_not_read(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.use(publish="asset")
    leave_good(lake, "a", *TABLES, runs=4)
    leave_good(lake, "b", "raw", runs=3)
    monkeypatch.setattr(examination, "_MOST_RUNS", 3)
    real, read = dg.DagsterInstance.get_runs, []

    def get_runs(*args: Any, **options: Any) -> Any:
        read.append(real(*args, **options))
        return read[-1]

    monkeypatch.setattr(dg.DagsterInstance, "get_runs", get_runs)
    result = tick(lake)
    (event,) = result.asset_events
    assert event.metadata["graveler/branch"].value == "a"
    assert "branch 'a': has 4 runs; the maximum is 3" in str(event.description)
    assert max(map(len, read)) == 3
    (request,) = result.run_requests or ()
    assert request.tags["graveler/branch"] == "b"


@pytest.mark.parametrize(
    ("error", "reports"),
    [
        (CorruptData("damaged"), 2),
        (NotFound("damaged", kind=Kind.CommitNotFound), 2),
        (NotFound("damaged", kind=Kind.NoMergeBase), 2),
        (Unavailable("away"), 1),
    ],
    ids=["damaged", "without-head", "without-merge-base", "away"],
)
def test_an_error_of_one_branch_does_not_concern_the_others(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, error: GravelerError, reports: int
) -> None:
    keep(lake, "one", "two")
    real = examination.kept_changes

    def failing(repository: Any, group: Any, branch: str, *args: Any, **options: Any) -> Any:
        if branch == "one":
            raise error
        return real(repository, group, branch, *args, **options)

    monkeypatch.setattr(examination, "kept_changes", failing)
    events = tick(lake).asset_events
    assert len(events) == reports
    assert ("could not examine it because of an error: damaged" in str(events[0].description)) is (reports == 2)
    assert not tick(lake).asset_events
    assert lake.branches() == ["one"]


def test_a_branch_that_is_deleted_during_the_tick_is_not_reported(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(lake, "one", "two")
    real = examination.gather

    def late(instance: Any, group: Any, place: Any, **options: Any) -> Any:
        if place.branch == "one":
            lake.repository.delete_branch("one")
        return real(instance, group, place, **options)

    monkeypatch.setattr(examination, "gather", late)
    (event,) = tick(lake).asset_events
    assert event.metadata["graveler/branch"].value == "two"


def test_a_damaged_record_does_not_concern_other_branches(lake: Lake) -> None:
    keep(lake, "one", "two")
    where = keys.branch(lake.repository._record, BranchId("one"))
    lake.repository._stores.kv.set(where.partition, where.key, b"damaged")
    (event,) = tick(lake).asset_events
    assert event.metadata["graveler/branch"].value == "two"
