"""The sensor for sealed tokens that nobody takes: patience, pages, and what it leaves alone."""

from __future__ import annotations

import json
from datetime import timedelta

import dagster as dg
import pytest
import time_machine

from dagster_graveler.sensors.compaction_requests import Pace
from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.ids import BranchId
from graveler_core.records import layout as keys
from tests.dagster_graveler.sensors.conftest import Evaluate, Slow
from tests.dagster_graveler.sensors.runs import compaction

SENSOR = make_sealed_tokens_sensor(compaction, minutes=30)
START = "2030-01-01 00:00 +0000"


@pytest.fixture
def lake(store: Graveler) -> Repository:
    return store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)


def crash_in_commit(branch: Branch, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seal what is staged, and do not go on."""

    def dies(*_: object) -> None:
        raise RuntimeError("killed")

    branch.put("a", b"1")
    with monkeypatch.context() as broken:
        broken.setattr("graveler_core.engine.committing.commit.advance", dies)
        with pytest.raises(RuntimeError):
            branch.commit("never")
    assert branch.record().sealed_tokens


def test_a_token_that_stays_is_compacted(tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lake.branch("main")
    crash_in_commit(main, monkeypatch)
    with time_machine.travel(START, tick=False) as clock:
        first = tick(SENSOR)
        assert not first.requests
        assert (
            first.skipped
            == "1 branch examined, 1 with a sealed token as the newest layer, 0 for longer than 30 minutes"
        )
        clock.shift(timedelta(minutes=29))
        second = tick(SENSOR, first.cursor)
        assert not second.requests
        clock.shift(timedelta(minutes=1))
        (request,) = tick(SENSOR, second.cursor).requests
    token = main.record().sealed_tokens[0].id.removeprefix("lake/main:")
    assert (request.run_key or "").endswith(f"/main/{token}/0")
    assert request.tags["graveler/why"] == "1 layer; the newest is a token that was sealed more than 30 minutes ago"
    assert request.run_config["ops"]["compact_branch"]["config"]["branch"] == "main"


def test_a_token_that_a_clock_far_ahead_has_seen_is_compacted(
    tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash_in_commit(lake.branch("main"), monkeypatch)
    with time_machine.travel(START, tick=False) as clock:
        clock.shift(timedelta(days=365))
        first = tick(SENSOR)
        clock.shift(-timedelta(days=365))
        second = tick(SENSOR, first.cursor)
        assert not second.requests
        clock.shift(timedelta(minutes=30))
        assert len(tick(SENSOR, second.cursor).requests) == 1


def test_another_token_is_another_matter(tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    main = lake.branch("main")
    crash_in_commit(main, monkeypatch)
    with time_machine.travel(START, tick=False) as clock:
        cursor = tick(SENSOR).cursor
        crash_in_commit(main, monkeypatch)
        clock.shift(timedelta(minutes=31))
        answer = tick(SENSOR, cursor)
        assert not answer.requests
        main.commit("taken after all")
        clock.shift(timedelta(minutes=31))
        done = tick(SENSOR, answer.cursor)
    assert done.skipped == "1 branch examined, 0 with a sealed token as the newest layer, 0 for longer than 30 minutes"
    assert json.loads(done.cursor or "")["seen"] == {}


def test_large_layers_wait_for_their_commit(tick: Evaluate, lake: Repository) -> None:
    lake.branch("main").remove_many([f"path/{n}" for n in range(1_000)])
    assert "0 with a sealed token as the newest layer" in tick(SENSOR).skipped


def test_pages_cross_repositories_and_go_round(
    tick: Evaluate, store: Graveler, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = store.create_repository("other", "memory://other-with-sealed-tokens", ephemeral=True)
    branches = [lake.create_branch("a", source="main"), lake.branch("main"), other.branch("main")]
    for branch in branches:
        crash_in_commit(branch, monkeypatch)
    sensor = make_sealed_tokens_sensor(compaction, minutes=30, pace=Pace(page=2))
    cursor, asked = None, []
    with time_machine.travel(START, tick=False) as clock:
        for _ in range(4):
            answer = tick(sensor, cursor)
            cursor = answer.cursor
            asked.append([(r.tags["graveler/repository"], r.tags["graveler/branch"]) for r in answer.requests])
            clock.shift(timedelta(minutes=16))
    assert asked == [[], [], [("lake", "a"), ("lake", "main")], [("other", "main")]]


def test_a_tick_over_many_repositories_stops_in_time_and_the_next_one_goes_on(
    tick: Evaluate, store: Graveler, monkeypatch: pytest.MonkeyPatch, slow: Slow
) -> None:
    names = [f"lake-{number}" for number in range(7)]
    for name in names:
        crash_in_commit(store.create_repository(name, f"memory://{name}", ephemeral=True).branch("main"), monkeypatch)
    slow(Repository, "branches", 6.0)
    cursor, after = None, []
    for _ in range(4):
        cursor = tick(SENSOR, cursor).cursor
        after.append(json.loads(cursor or "")["after"])
    assert after == ["lake-2/main", "lake-4/main", "lake-6/main", ""]
    assert len(json.loads(cursor or "")["seen"]) == len(names)


def test_branches_whose_pressure_a_tick_has_no_time_to_read_are_left_to_a_later_one(
    tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch, slow: Slow
) -> None:
    for name in "abc":
        crash_in_commit(lake.create_branch(name, source="main"), monkeypatch)
    slow(Branch, "pressure", 10.0)
    asked = []
    with time_machine.travel(START, tick=False) as clock:
        cursor = tick(SENSOR).cursor
        for _ in range(2):
            clock.shift(timedelta(minutes=31))
            answer = tick(SENSOR, cursor)
            cursor = answer.cursor
            asked.append([request.tags["graveler/branch"] for request in answer.requests])
            for name in asked[-1]:
                lake.branch(name).compact()
    assert asked == [["a", "b"], ["c"]]


def test_damaged_records_do_not_concern_other_branches(
    tick: Evaluate, store: Graveler, lake: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    damaged = store.create_repository("damaged", "memory://damaged-record", ephemeral=True)
    crash_in_commit(lake.create_branch("a", source="main"), monkeypatch)
    crash_in_commit(lake.branch("main"), monkeypatch)
    branch, repository = keys.branch(lake._record, BranchId("a")), keys.repository(damaged._record.id)
    store._stores.kv.set(branch.partition, branch.key, b"damaged")
    store._stores.kv.set(repository.partition, repository.key, b"damaged")
    assert tick(SENSOR).skipped.startswith("1 branch examined, 1 with a sealed token")


def test_what_a_cursor_remembers_is_bounded(tick: Evaluate, lake: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dagster_graveler.sensors.sealed_tokens._REMEMBERED", 2)
    for name in "abc":
        crash_in_commit(lake.create_branch(name, source="main"), monkeypatch)
    assert len(json.loads(tick(SENSOR).cursor or "")["seen"]) == 2


@pytest.mark.parametrize(
    "cursor", ["rubbish", '{"version": 9}', '{"seen": 7}', r'{"version": 1, "after": "lake/\u0000"}']
)
def test_an_unknown_cursor_is_begun_anew(tick: Evaluate, lake: Repository, cursor: str) -> None:
    assert json.loads(tick(SENSOR, cursor).cursor or "") == {"version": 1, "after": "", "seen": {}, "found": {}}


def test_it_is_on_by_default() -> None:
    assert SENSOR.default_status is dg.DefaultSensorStatus.RUNNING
