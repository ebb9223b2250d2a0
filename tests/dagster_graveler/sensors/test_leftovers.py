"""The sensor that wakes the cleaner: when, how often, and what it says otherwise."""

from __future__ import annotations

import json
from datetime import timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.sensors.leftovers import make_leftovers_sensor
from graveler_core.facade.graveler import Graveler
from tests.dagster_graveler.sensors.conftest import Evaluate

START = "2030-01-01 00:00 +0000"


@dg.op
def nothing() -> None:
    """Stands for the cleaner."""


@dg.job(name="cleaning_job")
def cleaning_job() -> None:
    nothing()


SENSOR = make_leftovers_sensor(cleaning_job, most=2)
SAID = "{} can be removed now, and the job is started early from 2 on; {} wait in total"


def delete(store: Graveler, *names: str) -> None:
    for name in names:
        store.create_repository(name, f"memory://{name}-of-leftovers", adopt=True, ephemeral=True)
        store.delete_repository(name)


def run(instance: dg.DagsterInstance, status: dg.DagsterRunStatus) -> str:
    made = instance.create_run_for_job(cleaning_job, status=status)
    return made.run_id


def test_few_are_left_to_the_schedule(tick: Evaluate, store: Graveler) -> None:
    with time_machine.travel(START, tick=True) as clock:
        delete(store, "one")
        clock.shift(timedelta(days=8))
        delete(store, "two", "three")
        answer = tick(SENSOR)
    assert not answer.requests
    assert answer.skipped == SAID.format("1 deleted repository", 3)
    assert json.loads(answer.cursor or "") == {"version": 1, "asked": 0.0, "due": 0, "in_vain": 0}


def test_many_wake_the_cleaner_once(tick: Evaluate, store: Graveler, instance: dg.DagsterInstance) -> None:
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        first = tick(SENSOR)
        (request,) = first.requests
        assert request.run_key == "cleaning/0"
        assert request.tags["graveler/why"] == SAID.format("2 deleted repositories", 2)
        # The cursor of a tick that failed afterwards is lost: the same run is asked for.
        assert [again.run_key for again in tick(SENSOR).requests] == ["cleaning/0"]
        id = run(instance, dg.DagsterRunStatus.STARTED)
        second = tick(SENSOR, first.cursor)
        assert not second.requests
        assert second.skipped.endswith(f"run {id} is active")
        assert second.cursor == first.cursor


def test_a_run_in_vain_is_asked_for_ever_more_slowly(
    tick: Evaluate, store: Graveler, instance: dg.DagsterInstance
) -> None:
    cursor, asked, last = None, [], "0"
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        for minute in range(0, 120, 5):
            answer = tick(SENSOR, cursor)
            cursor = answer.cursor
            if answer.requests:
                asked.append(minute)
                assert answer.requests[0].run_key == f"cleaning/{last}"
                last = run(instance, dg.DagsterRunStatus.SUCCESS)
            else:
                assert "last requested" in answer.skipped
            clock.shift(timedelta(minutes=5))
    assert asked == [0, 10, 30, 70]


@pytest.mark.parametrize("asked", [1.0, 1e11], ids=["long ago", "a clock far ahead"])
def test_it_goes_on_after_years_in_vain(tick: Evaluate, store: Graveler, asked: float) -> None:
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        answer = tick(SENSOR, json.dumps({"version": 1, "asked": asked, "due": 2, "in_vain": 1100}))
        assert answer.requests
        assert json.loads(answer.cursor or "")["in_vain"] == 20


def test_a_request_by_a_clock_that_is_ahead_was_made_now(tick: Evaluate, store: Graveler) -> None:
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        cursor = tick(SENSOR).cursor
        clock.shift(-timedelta(minutes=4))
        assert "last requested 0 minutes ago" in tick(SENSOR, cursor).skipped


def test_a_run_that_never_began_is_taken_up(tick: Evaluate, store: Graveler, instance: dg.DagsterInstance) -> None:
    """As a daemon leaves it that died: under its own key it is begun."""
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        first = tick(SENSOR)
        run(instance, dg.DagsterRunStatus.NOT_STARTED)
        clock.shift(timedelta(minutes=10))
        assert [again.run_key for again in tick(SENSOR, first.cursor).requests] == [first.requests[0].run_key]


def test_when_few_are_left_it_begins_anew(tick: Evaluate, store: Graveler) -> None:
    with time_machine.travel(START, tick=False) as clock:
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        asked = tick(SENSOR)
        store.clean()
        answer = tick(SENSOR, asked.cursor)
        assert answer.skipped == SAID.format("0 deleted repositories", 0)
        delete(store, "one", "two")
        clock.shift(timedelta(days=8))
        assert tick(SENSOR, answer.cursor).requests


def test_a_strange_cursor_is_begun_anew(tick: Evaluate, store: Graveler) -> None:
    for cursor in ("rubbish", '{"version": 7}'):
        assert tick(SENSOR, cursor).skipped.startswith("0 deleted repositories can be removed now")
