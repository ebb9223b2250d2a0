"""Tests of the reads of a tick: counters and branches in chunks, and no staged entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import dagster as dg
import pytest

from dagster_graveler.sensors.compaction import make_compaction_sensor
from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor
from graveler_core import Thresholds
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.wrappers.passing import StoreCall
from graveler_core.records import layout as keys
from graveler_core.stores import Stores
from graveler_core.testing.counting_store import Counting
from tests.dagster_graveler.sensors import conftest
from tests.dagster_graveler.sensors.conftest import Evaluate
from tests.dagster_graveler.sensors.runs import compaction

T = TypeVar("T")


class Watched(Counting):
    """Notes which partitions are asked for."""

    partitions: set[bytes]

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        self.partitions.add(call.partition)
        return super().step(call, work)


@pytest.fixture
def lake(store: Graveler) -> Repository:
    lake = store.create_repository("lake", "memory://lake", adopt=True, ephemeral=True)
    lake.set_thresholds(Thresholds(tombstones=1_000))
    return lake


@pytest.fixture
def watched(store: Graveler, lake: Repository) -> Iterator[Watched]:
    """The store that the sensors see."""
    stores: Stores = store._stores
    kv = Watched(stores.kv)
    kv.partitions = set()
    conftest.STORES.append(Graveler(replace(stores, kv=kv)))
    yield kv
    conftest.STORES.pop()


def pile_up(lake: Repository, number: int) -> None:
    branch = lake.create_branch(f"branch-{number:03}", source="main")
    branch.remove_many([f"path/{n}" for n in range(300)])


@pytest.mark.parametrize(
    "sensor",
    [make_compaction_sensor(compaction), make_sealed_tokens_sensor(compaction)],
    ids=["compaction", "sealed_tokens"],
)
def test_a_tick_costs_round_trips_by_the_chunk(
    tick: Evaluate, lake: Repository, watched: Watched, sensor: dg.SensorDefinition
) -> None:
    spent = []
    for branches in (range(5), range(5, 100)):
        for number in branches:
            pile_up(lake, number)
        watched.reset()
        assert not tick(sensor).requests
        spent.append(watched.round_trips)
    few, many = spent
    assert many <= few <= 10
    assert len(watched.partitions) <= 3
    assert watched.partitions <= {keys.STATS, keys.GRAVELER, keys.partition(lake._record)}


def test_a_request_costs_no_further_round_trip(tick: Evaluate, lake: Repository, watched: Watched) -> None:
    sensor = make_compaction_sensor(compaction)
    pile_up(lake, 0)
    watched.reset()
    assert not tick(sensor).requests
    idle = watched.round_trips
    lake.set_thresholds(Thresholds(tombstones=100))
    watched.reset()
    assert len(tick(sensor).requests) == 1
    assert watched.round_trips == idle
