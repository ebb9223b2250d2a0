"""The sensor that asks for compactions: whom, how often, in what order, and what it says."""

from __future__ import annotations

import json
from datetime import timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.sensors.compaction import make_compaction_sensor
from dagster_graveler.sensors.compaction_requests import Pace
from graveler_core import Thresholds
from graveler_core.engine.protocol import write_counters
from graveler_core.engine.staging import pressure
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.records import access
from graveler_core.records import layout as keys
from tests.dagster_graveler.sensors.conftest import Evaluate, Slow
from tests.dagster_graveler.sensors.runs import compaction, queue, run

SENSOR = make_compaction_sensor(compaction)
BROKEN = RuntimeError("the process is gone")


@pytest.fixture
def lake(store: Graveler) -> Repository:
    lake = store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
    lake.set_thresholds(Thresholds(tombstones=1_000))
    return lake


def remove(branch: Branch, count: int) -> None:
    """Stage tombstones; from 256 at once on they are counted."""
    branch.remove_many([f"path/{n:06}" for n in range(count)])


def test_a_branch_over_pressure_is_asked_for(tick: Evaluate, lake: Repository) -> None:
    main = lake.branch("main")
    remove(main, 2_500)
    answer = tick(SENSOR)
    (request,) = answer.requests
    record = main.record()
    pressure = main.pressure()
    what = f"{pressure.repository.uid}/main/{record.sealed_tokens[0].id}"
    assert request.run_key == f"{what}/0"
    assert request.run_config == {
        "ops": {"compact_branch": {"config": {"repository": "lake", "branch": "main", "every_minutes": 5.0}}}
    }
    assert request.tags == {
        "graveler/repository": "lake",
        "graveler/branch": "main",
        "graveler/uid": record.uid,
        "graveler/compaction": what,
        "graveler/why": "2,500 tombstones of 1,000",
        "dagster/priority": "2",
        "dagster/sensor_name": "compaction",
    }


def test_where_nothing_is_sealed_the_staging_token_is_the_key(tick: Evaluate, lake: Repository) -> None:
    main = lake.branch("main")
    lake.set_thresholds(Thresholds(staged=1_024))
    for n in range(1_024):
        main.remove(f"path/{n}")
    (request,) = tick(SENSOR).requests
    record = main.record()
    assert not record.sealed_tokens
    token = record.staging_token.removeprefix("lake/main:")
    assert request.run_key == f"{main.pressure().repository.uid}/main/{token}/0"


def test_nothing_to_do_is_said_with_numbers(tick: Evaluate, lake: Repository) -> None:
    assert tick(SENSOR).skipped == "no branch has counters, so few changes are staged"
    remove(lake.branch("main"), 400)
    answer = tick(SENSOR)
    assert not answer.requests
    assert answer.skipped == (
        "1 branch counted, 0 over pressure; highest: lake/main 40% (400 tombstones, 400 staged records, 1 layer)"
    )


@pytest.mark.parametrize(
    "status", [dg.DagsterRunStatus.STARTING, dg.DagsterRunStatus.STARTED, dg.DagsterRunStatus.CANCELING]
)
def test_a_branch_with_a_run_under_way_is_left_alone(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, status: dg.DagsterRunStatus
) -> None:
    remove(lake.branch("main"), 1_000)
    (request,) = tick(SENSOR).requests
    queue(instance, request, status)
    remove(lake.branch("main"), 1_001)  # a newer layer is no reason for a second run
    answer = tick(SENSOR)
    assert not answer.requests
    assert answer.skipped.endswith("; 1 with an active run")


def test_a_request_whose_daemon_died_is_repeated_with_its_key(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    remove(lake.branch("main"), 1_000)
    (request,) = tick(SENSOR).requests
    queue(instance, request, dg.DagsterRunStatus.NOT_STARTED)
    assert [again.run_key for again in tick(SENSOR).requests] == [request.run_key]


def test_a_fresh_compaction_is_waited_for(tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lake.branch("main")
    remove(main, 1_000)

    def dies(*_: object) -> None:
        raise BROKEN

    with monkeypatch.context() as broken:
        broken.setattr("graveler_core.engine.compacting.compaction._install", dies)
        with pytest.raises(RuntimeError):
            main.compact()
    assert main.record().sealed_tokens
    answer = tick(SENSOR)
    assert not answer.requests
    assert "1 whose compaction began less than 300 s ago" in answer.skipped
    with time_machine.travel(main.record().compaction_start_time + timedelta(seconds=301)):
        assert len(tick(SENSOR).requests) == 1


def test_a_failed_compaction_is_asked_for_again_ever_later(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    remove(lake.branch("main"), 1_000)
    (request,) = tick(SENSOR).requests
    with time_machine.travel("2030-01-01 00:00 +0000", tick=False) as clock:
        assert not run(instance, request, BROKEN).success
        waited = []
        for epoch in (1, 2, 3):
            seconds = 0
            while not (again := tick(SENSOR)).requests:
                assert "1 waiting after a run that did not compact them" in again.skipped
                clock.shift(timedelta(seconds=100))
                seconds += 100
            waited.append(seconds)
            assert again.requests[0].run_key == (request.run_key or "").removesuffix("0") + str(epoch)
            run(instance, again.requests[0], BROKEN)
    assert waited == [300, 600, 1_200]


def test_success_that_changed_nothing_is_no_end_either(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository
) -> None:
    remove(lake.branch("main"), 1_000)
    (request,) = tick(SENSOR).requests
    assert run(instance, request).success
    assert not tick(SENSOR).requests
    with time_machine.travel("2030-01-01 00:00 +0000"):
        (again,) = tick(SENSOR).requests
    assert (again.run_key or "").endswith("/1")


def test_after_a_real_compaction_nothing_is_asked_for(tick: Evaluate, lake: Repository) -> None:
    main = lake.branch("main")
    remove(main, 1_000)
    assert tick(SENSOR).requests
    main.compact()
    assert tick(SENSOR).skipped == "no branch has counters, so few changes are staged"
    remove(main, 2_000)
    with time_machine.travel(main.record().compaction_start_time + timedelta(seconds=301)):
        (request,) = tick(SENSOR).requests
    assert (request.run_key or "").endswith("/0")


def test_the_worst_come_first_and_the_rest_waits(tick: Evaluate, lake: Repository) -> None:
    for name, count in [("a", 1_000), ("b", 3_000), ("c", 2_000), ("d", 900)]:
        remove(lake.create_branch(name, source="main"), count)
    sensor = make_compaction_sensor(compaction, pace=Pace(at_once=2))
    answer = tick(sensor)
    assert [(r.tags["graveler/branch"], r.tags["dagster/priority"]) for r in answer.requests] == [
        ("b", "3"),
        ("c", "2"),
    ]


def test_room_is_what_is_not_under_way(tick: Evaluate, instance: dg.DagsterInstance, lake: Repository) -> None:
    for name in "abc":
        remove(lake.create_branch(name, source="main"), 1_000)
    sensor = make_compaction_sensor(compaction, pace=Pace(at_once=1))
    (request,) = tick(sensor).requests
    queue(instance, request, dg.DagsterRunStatus.STARTING)
    answer = tick(sensor)
    assert not answer.requests
    assert "1 with an active run; 2 above the limit of 1 concurrent run" in answer.skipped


def test_pages_go_round(tick: Evaluate, lake: Repository) -> None:
    for name in "abcde":
        remove(lake.create_branch(name, source="main"), 1_000)
    sensor = make_compaction_sensor(compaction, pace=Pace(page=2))
    cursor, seen = None, []
    for _ in range(4):
        answer = tick(sensor, cursor)
        cursor = answer.cursor
        seen.append([request.tags["graveler/branch"] for request in answer.requests])
    assert seen == [["a", "b"], ["c", "d"], ["e"], ["a", "b"]]


def test_what_was_over_stays_so_until_it_is_relieved(tick: Evaluate, lake: Repository) -> None:
    main = lake.branch("main")
    remove(main, 1_000)
    over = tick(SENSOR)
    assert json.loads(over.cursor or "")["over"] == [f"lake/main:{main.record().sealed_tokens[-1].id}"]
    lake.set_thresholds(Thresholds(tombstones=1_900))  # 53 %: as if part of it had gone
    assert not tick(SENSOR).requests
    still = tick(SENSOR, over.cursor)
    assert [r.tags["graveler/why"] for r in still.requests] == ["1,000 tombstones of 1,900"]
    lake.set_thresholds(Thresholds(tombstones=2_100))
    relieved = tick(SENSOR, still.cursor)
    assert not relieved.requests
    assert json.loads(relieved.cursor or "")["over"] == []


def test_what_is_staged_after_a_compaction_begins_anew(tick: Evaluate, lake: Repository) -> None:
    main = lake.branch("main")
    remove(main, 1_000)
    over = tick(SENSOR)
    main.compact()
    remove(main, 600)
    assert "0 over pressure; highest: lake/main 60%" in tick(SENSOR, over.cursor).skipped


def test_what_a_cursor_remembers_is_bounded(tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagster_graveler.sensors.compaction._REMEMBERED", 2)
    for name in "abcd":
        remove(lake.create_branch(name, source="main"), 1_000)
    remembered = json.loads(tick(SENSOR).cursor or "")["over"]
    assert [mark.partition(":")[0] for mark in remembered] == ["lake/a", "lake/b"]


@pytest.mark.parametrize("cursor", [None, "", "rubbish", '{"version": 99, "after": "lake/z"}', "null"])
def test_an_unknown_cursor_is_begun_anew(tick: Evaluate, lake: Repository, cursor: str | None) -> None:
    remove(lake.branch("main"), 1_000)
    assert len(tick(SENSOR, cursor).requests) == 1


def test_a_sensor_may_be_for_one_repository(tick: Evaluate, store: Graveler, lake: Repository) -> None:
    other = store.create_repository("lake-2", "memory://other-under-pressure", ephemeral=True)
    other.set_thresholds(Thresholds(tombstones=1_000))
    for repository in (lake, other):
        remove(repository.branch("main"), 1_000)
    sensor = make_compaction_sensor(compaction, prefix="lake-2/")
    assert sensor.name == "compaction_lake_2"
    assert [request.tags["graveler/repository"] for request in tick(sensor).requests] == ["lake-2"]
    assert len(tick(SENSOR).requests) == 2


def test_it_is_on_by_default() -> None:
    assert SENSOR.default_status is dg.DefaultSensorStatus.RUNNING
    assert SENSOR.name == "compaction"


def test_a_tick_over_many_branches_stops_in_time_and_the_next_one_goes_on(
    tick: Evaluate, lake: Repository, slow: Slow
) -> None:
    for name in "abcde":
        remove(lake.create_branch(name, source="main"), 1_000)
    slow(pressure, "_pressure", 10.0)
    cursor, seen = None, []
    for _ in range(3):
        answer = tick(SENSOR, cursor)
        cursor = answer.cursor
        seen.append([request.tags["graveler/branch"] for request in answer.requests])
    assert seen == [["a", "b"], ["c", "d"], ["e"]]


def test_a_tick_that_removes_counters_of_deleted_branches_stops_in_time_and_the_next_one_goes_on(
    tick: Evaluate, store: Graveler, lake: Repository, slow: Slow
) -> None:
    remove(lake.create_branch("e", source="main"), 1_000)
    stores = store._stores
    ((name, counts),) = write_counters.readable(stores, "lake/e:", print).items()
    for gone in "abcd":  # as a writer stores it that comes late
        where = keys.COUNTS.at(name.replace("/e:", f"/{gone}:", 1))
        access.write(stores.kv, where, counts.model_copy(update={"branch": gone}))
    slow(write_counters, "remove", 10.0)
    before = json.dumps({"version": 1, "after": "", "over": ["lake/z:1"], "found": ["lake/y:1"]})
    first = tick(SENSOR, before)
    assert not first.requests
    assert first.skipped == "the time was used to remove counters of deleted branches"
    assert json.loads(first.cursor or "") == json.loads(before)
    second = tick(SENSOR, first.cursor)
    assert not second.requests
    assert [request.tags["graveler/branch"] for request in tick(SENSOR, second.cursor).requests] == ["e"]


def test_branches_that_a_tick_has_no_time_to_ask_for_are_left_to_a_later_one(
    tick: Evaluate, instance: dg.DagsterInstance, lake: Repository, slow: Slow
) -> None:
    for name in "abc":
        remove(lake.create_branch(name, source="main"), 1_000)
    slow(dg.DagsterInstance, "get_run_records", 10.0)
    answer = tick(SENSOR)
    assert [request.tags["graveler/branch"] for request in answer.requests] == ["a", "b"]
    for request in answer.requests:
        queue(instance, request, dg.DagsterRunStatus.STARTED)
    assert [request.tags["graveler/branch"] for request in tick(SENSOR, answer.cursor).requests] == ["c"]
