"""What a tick of the compaction sensor costs where very many branches have counters."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.engine import counting
from graveler_core.engine.registers import fresh
from graveler_core.model.names import branch_id
from graveler_core.staging.write_counts import Due
from graveler_core.staging.write_counts import Place as Counted

_TOMBSTONES = 1_000
_OVER = 100
"""Of so many branches, one is over its thresholds."""


def counted_branches(place: Place) -> None:
    """Branches whose counters say that much is staged on them; nothing is, and a tick must not find out."""
    with place.connect() as g:
        repo, stores = place.create(g), g._stores
        for number in range(place.size):
            name = branch_id(f"branch-{number:06}")
            repo.create_branch(name, source="main")
            now = fresh(stores, repo.id, name)
            tombstones = _TOMBSTONES * (20 if number % _OVER == 0 else 1)
            counted = Counted(now.repository, name, now.branch.staging_token)
            counting.write_down(stores, [Due(counted, stores.wall(), tombstones, tombstones)])


@scenario("compaction", counted_branches, sizes=(1_000, 10_000), counts="branches")
def sensor_tick(place: Place) -> Iterator[Measured]:
    """Whole ticks, the connection included: read the counters and branches, ask Dagster for runs, make requests."""
    import dagster as dg  # noqa: PLC0415 (the other scenarios do without)

    from orchestration.jobs.compaction import make_compaction_job  # noqa: PLC0415
    from orchestration.resources.graveler import GravelerResource  # noqa: PLC0415
    from sensors.compaction import make_compaction_sensor  # noqa: PLC0415

    graveler = GravelerResource(url=place.store)
    sensor = make_compaction_sensor(make_compaction_job(graveler))
    asked: list[float] = []
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> None:
            with dg.build_sensor_context(instance=instance, resources={"graveler": graveler}) as context:
                asked.append(len(sensor.evaluate_tick(context).run_requests or ()))

        yield clocked(tick).named("tick, the first of a process")
        yield clocked(tick, 5).named("tick")
    yield Measured("runs asked for", "a tick", tuple(asked))
