"""The sensor that asks again at once: for what broke, not for what is hopeless, and not for ever."""

from __future__ import annotations

import dagster as dg
import pytest

from dagster_graveler.sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
from graveler_core import Thresholds
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.sensors.conftest import Evaluate
from tests.dagster_graveler.sensors.runs import compaction, queue, run

ASKS = make_compaction_sensor(compaction)
ASKS_AGAIN = make_compaction_failure_sensor(compaction, at_most=2)
BROKEN = RuntimeError("the process is gone")


@pytest.fixture
def request_(tick: Evaluate, store: Graveler) -> dg.RunRequest:
    """The first request for a branch over pressure."""
    lake = store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
    lake.set_thresholds(Thresholds(tombstones=1_000))
    lake.branch("main").remove_many([f"path/{n}" for n in range(1_000)])
    (asked,) = tick(ASKS).requests
    return asked


@pytest.fixture
def cursor(tick: Evaluate) -> str | None:
    """Where the sensor begins: behind every failure that there is."""
    return tick(ASKS_AGAIN).cursor


def test_a_broken_run_is_asked_for_again_at_once_and_not_for_ever(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    keys, asked = [], request_
    for _ in range(2):
        run(instance, asked, BROKEN)
        answer = tick(ASKS_AGAIN, cursor)
        cursor = answer.cursor
        (asked,) = answer.requests
        keys.append((asked.run_key or "").removeprefix(request_.tags["graveler/compaction"]))
        for name in ("repository", "branch", "uid", "compaction", "why"):
            assert asked.tags[f"graveler/{name}"] == request_.tags[f"graveler/{name}"]
        assert asked.tags["dagster/priority"] == request_.tags["dagster/priority"]
        config = {"repository": "lake", "branch": "main", "every_minutes": 0.0}
        assert asked.run_config == {"ops": {"compact_branch": {"config": config}}}
    assert keys == ["/1", "/2"]
    run(instance, asked, BROKEN)
    answer = tick(ASKS_AGAIN, cursor)
    assert not answer.requests
    assert "3 runs for" in answer.skipped


def test_what_is_hopeless_is_left_alone(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    run(instance, request_, dg.Failure("branch 'main': not found", allow_retries=False))
    answer = tick(ASKS_AGAIN, cursor)
    assert not answer.requests
    assert "cannot succeed: branch 'main': not found" in answer.skipped


def test_retries_that_ran_out_are_no_hopeless_failure(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    run(instance, request_, dg.RetryRequested(max_retries=0))
    assert len(tick(ASKS_AGAIN, cursor).requests) == 1


def test_a_run_by_hand_is_its_owners_matter(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    run(instance, dg.RunRequest(run_config=request_.run_config), BROKEN)
    answer = tick(ASKS_AGAIN, cursor)
    assert not answer.requests
    assert "not requested by a sensor" in answer.skipped


def test_one_run_at_a_time(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    run(instance, request_, BROKEN)
    queue(instance, request_, dg.DagsterRunStatus.STARTED)
    answer = tick(ASKS_AGAIN, cursor)
    assert not answer.requests
    assert "another run" in answer.skipped


def test_success_is_none_of_its_business(
    tick: Evaluate, instance: dg.DagsterInstance, request_: dg.RunRequest, cursor: str | None
) -> None:
    run(instance, request_)
    assert not tick(ASKS_AGAIN, cursor).requests


def test_it_is_on_by_default() -> None:
    assert ASKS_AGAIN.default_status is dg.DefaultSensorStatus.RUNNING
