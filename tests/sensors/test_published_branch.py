"""The sensor of a published branch: what it reports, what it knows already, which cursors it survives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import NamedTuple

import dagster as dg
import pytest

from graveler_core import connect
from graveler_core.facade.graveler import Graveler
from sensors.data_version import reported_commit
from sensors.published_branch import make_published_branch_sensor

KEY = dg.AssetKey(["lake", "main"])
SENSOR = make_published_branch_sensor(KEY, repository="lake", branch="main")


class Connection(dg.ConfigurableResource):  # type: ignore[type-arg]
    """As the real resource, on a store in memory."""

    def graveler(self) -> Graveler:
        return STORES[-1]


class SensorTick(NamedTuple):
    """What a tick did; what it reported stands in the instance."""

    events: list[dg.AssetMaterialization]
    cursor: str | None
    skipped: str | None


STORES: list[Graveler] = []


@pytest.fixture(autouse=True)
def store() -> Iterator[Graveler]:
    with connect("memory://") as graveler:
        STORES.append(graveler)
        yield graveler
        STORES.pop()


@pytest.fixture
def instance() -> Iterator[dg.DagsterInstance]:
    with dg.DagsterInstance.ephemeral() as instance:
        yield instance


def tick(instance: dg.DagsterInstance, cursor: str | None = None) -> SensorTick:
    with dg.build_sensor_context(instance=instance, cursor=cursor, resources={"graveler": Connection()}) as context:
        answer = SENSOR.evaluate_tick(context)
    events = [event for event in answer.asset_events if isinstance(event, dg.AssetMaterialization)]
    assert len(events) == len(answer.asset_events)
    for event in events:
        instance.report_runless_asset_event(event)
    return SensorTick(events, answer.cursor, answer.skip_message)


def test_a_repository_that_does_not_exist_yet_is_skipped(instance: dg.DagsterInstance) -> None:
    answer = tick(instance)
    assert not answer.events
    assert "lake" in (answer.skipped or "")


def test_a_commit_from_elsewhere_is_reported_once(instance: dg.DagsterInstance, store: Graveler) -> None:
    main = store.create_repository("lake", "memory://lake").branch("main")
    first = tick(instance)
    main.put("a", b"1")
    commit = main.commit("by hand", committer="ann")

    second = tick(instance, first.cursor)
    (event,) = second.events
    assert event.asset_key == KEY
    assert event.tags == {"dagster/data_version": commit.id}
    assert event.description == "by hand"
    assert event.metadata["committer"].value == "ann"
    assert reported_commit(instance, KEY) == commit.id
    assert not tick(instance, second.cursor).events


def test_what_a_run_has_reported_is_not_reported_again(instance: dg.DagsterInstance, store: Graveler) -> None:
    head = store.create_repository("lake", "memory://lake").at("main").commit_id
    instance.report_runless_asset_event(dg.AssetMaterialization(KEY, tags={"dagster/data_version": head}))
    answer = tick(instance)
    assert not answer.events
    assert answer.skipped


@pytest.mark.parametrize("cursor", [None, "", "rubbish", "[]", '{"version": 99, "commit": "x"}', "null", "7"])
def test_an_unknown_cursor_is_begun_anew(instance: dg.DagsterInstance, store: Graveler, cursor: str | None) -> None:
    head = store.create_repository("lake", "memory://lake").at("main").commit_id
    answer = tick(instance, cursor)
    assert len(answer.events) == 1
    assert json.loads(answer.cursor or "") == {"version": 1, "commit": head}


def test_the_name_is_one_that_dagster_accepts() -> None:
    sensor = make_published_branch_sensor(KEY, repository="my-lake", branch="v1.0-rc", resource_key="other")
    assert sensor.name == "my_lake_v1_0_rc_moved"
    assert "other" in sensor.required_resource_keys
