"""Cost of a tick of the compaction sensor in a store with very many branches."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.engine.protocol import write_counters as counting
from graveler_core.engine.protocol.registers import fresh
from graveler_core.model.names import branch_id
from graveler_core.staging.write_counts import BranchLayer as Counted
from graveler_core.staging.write_counts import Due

_TOMBSTONES = 1_000
_OVER = 100
"""Number of branches per branch that exceeds its thresholds."""


def counted_branches(place: Place) -> None:
    """Create branches whose counters report staged changes. Nothing is staged: a tick reads only the counters."""
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
    """Run complete ticks: connect, read counters and branches, ask Dagster for its runs, and create run requests."""
    import dagster as dg  # noqa: PLC0415 (the other scenarios do not need Dagster)

    from dagster_graveler.jobs.compaction import make_compaction_job  # noqa: PLC0415
    from dagster_graveler.resources.graveler import GravelerResource  # noqa: PLC0415
    from dagster_graveler.sensors.compaction import make_compaction_sensor  # noqa: PLC0415

    graveler = GravelerResource(url=place.store)
    sensor = make_compaction_sensor(make_compaction_job(graveler))
    asked: list[float] = []
    with dg.DagsterInstance.ephemeral() as instance:

        def tick() -> None:
            with dg.build_sensor_context(instance=instance, resources={"graveler": graveler}) as context:
                asked.append(len(sensor.evaluate_tick(context).run_requests or ()))

        yield clocked(tick).named("tick, the first of a process")
        yield clocked(tick, 5).named("tick")
    yield Measured("requested runs", "per tick", tuple(asked))
