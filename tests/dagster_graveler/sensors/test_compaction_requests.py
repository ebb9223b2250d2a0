"""Tests of compaction requests: layers, priorities and pauses."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.sensors.compaction_requests import Pace, ask, newest_layer
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from tests.dagster_graveler.sensors.runs import run


@pytest.fixture
def lake(store: Graveler) -> Repository:
    return store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)


def test_the_newest_layer_is_named_without_its_branch(lake: Repository) -> None:
    main = lake.branch("main")
    assert f"lake/main:{newest_layer(main.record())}" == main.record().staging_token
    main.put("a", b"1")
    token = main.record().staging_token
    main.remove_prefix("old/")
    removal, sealed = main.record().sealed_tokens
    assert sealed.id == token
    assert newest_layer(main.record()) == removal.id
    main.remove_many(["b"])  # few: a token of its own
    assert f"lake/main:{newest_layer(main.record())}" == main.record().sealed_tokens[0].id


@pytest.mark.parametrize(("value", "priority"), [(0.4, "0"), (1.0, "1"), (7.9, "7"), (1e9, "99")])
def test_the_priority_is_the_pressure(
    instance: dg.DagsterInstance, lake: Repository, value: float, priority: str
) -> None:
    item = lake.branch("main").pressure()
    (request,) = ask(
        instance, "compaction_job", [(replace(item, pressure=replace(item.pressure, value=value)), "")], Pace()
    ).requests
    assert request.tags["dagster/priority"] == priority


def test_only_a_start_near_the_present_holds_a_branch(instance: dg.DagsterInstance, lake: Repository) -> None:
    """A process whose clock is ahead has written a start in the future."""
    now = datetime.now(UTC)
    item = lake.branch("main").pressure()
    for begun, count in ((now, 0), (now + timedelta(minutes=1), 0), (now + timedelta(hours=1), 1)):
        begun_then = replace(item, branch=item.branch.model_copy(update={"compaction_start_time": begun}))
        assert len(ask(instance, "compaction_job", [(begun_then, "it is time")], Pace()).requests) == count


def test_a_branch_rests_for_a_day_at_most(instance: dg.DagsterInstance, lake: Repository) -> None:
    wanted = [(lake.branch("main").pressure(), "it is time")]
    pace = Pace(fresh_seconds=6 * 3_600)
    with time_machine.travel("2030-01-01 00:00 +0000", tick=False) as clock:
        rested = []
        for _ in range(5):
            hours = 0
            while not (asked := ask(instance, "compaction_job", wanted, pace)).requests:
                assert asked.words() == "; 1 waiting after a run that did not compact them"
                clock.shift(timedelta(hours=1))
                hours += 1
            rested.append(hours)
            run(instance, asked.requests[0], RuntimeError("broken again"))
    assert rested == [0, 6, 12, 24, 24]


def test_a_run_that_a_clock_far_ahead_has_ended_holds_no_branch(instance: dg.DagsterInstance, lake: Repository) -> None:
    wanted = [(lake.branch("main").pressure(), "it is time")]
    with time_machine.travel("2030-01-01 00:00 +0000", tick=False) as clock:
        clock.shift(timedelta(days=365))
        (request,) = ask(instance, "compaction_job", wanted, Pace()).requests
        run(instance, request, RuntimeError("broken"))
        clock.shift(-timedelta(days=365))
        assert len(ask(instance, "compaction_job", wanted, Pace()).requests) == 1
