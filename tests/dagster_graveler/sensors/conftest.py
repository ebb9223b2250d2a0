"""A store in memory, an instance of Dagster's in memory, and the tick of a sensor on both."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import dagster as dg
import pytest

from dagster_graveler.sensors import tick_time
from graveler_core import connect
from graveler_core.facade.graveler import Graveler

STORES: list[Graveler] = []


class Connection(dg.ConfigurableResource):  # type: ignore[type-arg]
    """As the real resource, on a store in memory."""

    def graveler(self) -> Graveler:
        return STORES[-1]


@dataclass(frozen=True, slots=True)
class SensorTick:
    """What a tick did; the events that it gave are reported to the instance, its requests are not run."""

    events: list[Any]
    requests: list[dg.RunRequest]
    partitions: list[Any]
    cursor: str | None
    skipped: str


Evaluate = Callable[..., SensorTick]
Slow = Callable[[object, str, float], None]


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


@pytest.fixture
def tick(instance: dg.DagsterInstance) -> Evaluate:
    """`tick(sensor, cursor)`."""

    def evaluate(sensor: dg.SensorDefinition, cursor: str | None = None) -> SensorTick:
        resources = {"graveler": Connection()}
        with dg.build_sensor_context(instance=instance, cursor=cursor, resources=resources) as context:
            answer = sensor.evaluate_tick(context)
        for event in answer.asset_events:
            assert not isinstance(event, dg.AssetCheckEvaluation)
            instance.report_runless_asset_event(event)
        for request in answer.dynamic_partitions_requests or []:
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                instance.add_dynamic_partitions(request.partitions_def_name, request.partition_keys)
            else:
                for key in request.partition_keys:
                    instance.delete_dynamic_partition(request.partitions_def_name, key)
        return SensorTick(
            list(answer.asset_events),
            list(answer.run_requests or []),
            list(answer.dynamic_partitions_requests or []),
            answer.cursor,
            answer.skip_message or "",
        )

    return evaluate


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Slow:
    """`slow(owner, method, seconds)`: make each call of a method take some time of the tick."""
    now = [0.0]
    monkeypatch.setattr(tick_time, "monotonic", lambda: now[0])

    def make(owner: object, method: str, seconds: float) -> None:
        real = getattr(owner, method)

        def made(*args: Any, **options: Any) -> Any:
            now[0] += seconds
            return real(*args, **options)

        monkeypatch.setattr(owner, method, made)

    return make
