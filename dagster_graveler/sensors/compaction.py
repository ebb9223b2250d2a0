"""Sensors that request compactions: one for high pressure, one for failed compactions.

A tick reads the counters of staged changes and the branches they belong to, one page at a time, and stops after half a
minute. It never reads staged changes.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import dagster as dg

from dagster_graveler.run_tags import COMPACTION_TAG, UID_TAG
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.compaction_requests import USUAL, Pace, ask, asked_again, branches_at_work, ended_runs
from dagster_graveler.sensors.tick_time import SECONDS, OutOfTime, TickTime, in_half_the_time
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.staging.pressure import BranchPressure

_REMEMBERED = 200
"""Maximum number of branches over pressure in a cursor."""
_REASONS_SHOWN = 3


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """Last branch of the survey; empty for the start."""
    over: tuple[str, ...] = ()
    """Branches that were over pressure in the last survey: see `_mark`."""
    found: tuple[str, ...] = ()
    """Branches over pressure that the current survey has found so far."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Result of one tick."""

    looked_at: int
    over: list[BranchPressure]
    nearest: BranchPressure | None
    """Branch with the highest pressure, over the threshold or not."""
    last: str
    """Last branch of the page; empty without any."""
    is_end: bool
    """True if the survey is complete."""


def make_compaction_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    prefix: str = "",
    pace: Pace = USUAL,
    interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """Return a sensor that requests one run for each branch over pressure, highest pressure first.

    Args:
        job: Job with the configuration of `dagster_graveler.sensors.compaction_requests`.
        resource_key: Key of a resource with a method `graveler()`.
        prefix: Consider only branches whose `<repository>/<branch>` has this prefix: `lake/` for one repository.
        pace: Limits on requests.
        interval_seconds: Minimum time between two ticks.

    Returns:
        The sensor `compaction`. A prefix becomes a part of the name.
    """

    @dg.sensor(
        name=_named("compaction", prefix),
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests the compaction of branches with too many staged changes.",
    )
    def over_pressure(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor = cursors.read(_Cursor, context.cursor)
        reading = TickTime(SECONDS / 2)
        found = graveler.pressures(prefix, cursor.after, pace.page, watch=reading.check)
        page = _looked_at(found, set(cursor.over), pace.page, reading)
        worst_first = in_half_the_time(context.log, page.over)
        wanted = ((item, "; ".join(item.pressure.reasons)) for item in worst_first)
        asked = ask(context.instance, job.name, wanted, pace)
        said = _summary(page) + asked.words()
        if asked.requests:
            context.log.info(said)
        return dg.SensorResult(
            run_requests=asked.requests,
            skip_reason=None if asked.requests else said,
            cursor=_next(cursor, page).text(),
        )

    return over_pressure


def make_compaction_failure_sensor(
    job: dg.JobDefinition, *, name: str = "compaction_failed", at_most: int = 3
) -> dg.SensorDefinition:
    """Return a sensor that requests a failed compaction again, at once.

    It handles runs that broke: a process was killed, or a store was unavailable for longer than the op's own retries.
    Failures that a retry cannot fix are not requested again. After `at_most` attempts, the other sensors request the
    compaction again, at a slower pace.

    Args:
        job: The compaction job.
        name: Name of the sensor.
        at_most: Maximum number of ended runs for the same layers.

    Returns:
        The sensor, which Dagster starts after each failed run of the job.
    """

    @dg.run_failure_sensor(
        name=name,
        monitored_jobs=[job],
        request_job=job,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Requests a failed compaction again, a limited number of times.",
    )
    def failed(context: dg.RunFailureSensorContext) -> dg.RunRequest | dg.SkipReason:
        run = context.dagster_run
        what = run.tags.get(COMPACTION_TAG)
        if what is None:
            return dg.SkipReason(f"run {run.run_id} was not requested by a sensor")
        for event in context.get_step_failure_events():
            hopeless = event.step_failure_data.user_failure_data
            if hopeless is not None:
                return dg.SkipReason(f"a retry of run {run.run_id} cannot succeed: {hopeless.description}")
        epoch = len(ended_runs(context.instance, what))
        if epoch > at_most:
            return dg.SkipReason(
                f"{counted(epoch, 'run')} for {what} ended, more than {at_most}; other sensors will request it later"
            )
        if run.tags.get(UID_TAG) in branches_at_work(context.instance, job.name):
            return dg.SkipReason(f"another run already compacts the branch of failed run {run.run_id}")
        return asked_again(run, epoch)

    return failed


def _named(name: str, prefix: str) -> str:
    return "_".join([name, *"".join(c if c.isalnum() else " " for c in prefix).split()])


def _looked_at(found: Iterable[BranchPressure], were_over: set[str], size: int, reading: TickTime) -> _Page:
    """Look at the next branches for a time: at least at one, unless the time goes by with counters of deleted ones."""
    from graveler_core.staging.pressure import pressure

    over, nearest, count, last, is_end = [], None, 0, "", False
    with suppress(OutOfTime):
        for item in found:
            count, last = count + 1, item.token
            if nearest is None or item.pressure.value > nearest.pressure.value:
                nearest = item
            now = item.pressure
            if not now.over and _mark(item) in were_over:
                now = pressure(item.load, item.thresholds, was_over=True)
            if now.over:
                over.append(replace(item, pressure=now))
            if count == size or reading.is_over:
                break
        else:
            is_end = True
    over.sort(key=lambda item: -item.pressure.value)
    return _Page(count, over, nearest, last, is_end)


def _mark(item: BranchPressure) -> str:
    """Return a key of a branch and its oldest layer. When that layer is gone, so are the staged changes seen in the
    last survey.
    """
    sealed = item.branch.sealed_tokens
    oldest = sealed[-1].id if sealed else item.branch.staging_token
    return f"{item.token}:{oldest.rpartition(':')[2]}"


def _summary(page: _Page) -> str:
    if page.nearest is None and not page.is_end:
        return "the time was used to remove counters of deleted branches"
    if page.nearest is None:
        return "no branch has counters, so few changes are staged"
    looked_at = f"{counted(page.looked_at, 'branch')} counted, {len(page.over):,} over pressure"
    if not page.over:
        return f"{looked_at}; highest: {_numbers(page.nearest)}"
    shown = ", ".join(_numbers(item) for item in page.over[:_REASONS_SHOWN])
    return f"{looked_at}: {shown}{', …' if len(page.over) > _REASONS_SHOWN else ''}"


def _numbers(item: BranchPressure) -> str:
    load = item.load
    return (
        f"{item.token} {item.pressure.value:.0%} ({counted(load.tombstones, 'tombstone')}, "
        f"{counted(load.staged, 'staged record')}, {counted(load.layers, 'layer')})"
    )


def _next(cursor: _Cursor, page: _Page) -> _Cursor:
    found = (*cursor.found, *(_mark(item) for item in page.over))[:_REMEMBERED]
    if page.is_end:
        return _Cursor(over=found)
    return _Cursor(after=page.last or cursor.after, over=cursor.over, found=found)
