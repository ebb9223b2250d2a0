"""Sensors that have branches compacted: one asks where the pressure is high, one asks again after failures.

A tick reads the counters of staged writes and the branches that they name, a page at a time, and never what is staged.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

import dagster as dg

from sensors import cursors
from sensors.compaction_requests import USUAL, Pace, ask, asked_again, branches_at_work, ended_runs
from sensors.run_tags import COMPACTION_TAG, UID_TAG

if TYPE_CHECKING:
    from graveler_core.engine.pressure import BranchPressure

_REMEMBERED = 200
"""Branches over pressure that a cursor remembers."""
_REASONS_SHOWN = 3


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    after: cursors.Place = ""
    """The survey goes on behind this branch; empty: from the start."""
    over: tuple[str, ...] = ()
    """What was over pressure in the last survey: see `_mark`."""
    found: tuple[str, ...] = ()
    """Those of the survey that is under way."""


@dataclass(frozen=True, slots=True)
class _Page:
    """What a tick saw."""

    looked_at: int
    over: list[BranchPressure]
    nearest: BranchPressure | None
    """The branch with the highest pressure, over or not."""
    last: str
    """Where the next tick goes on; empty if the survey is through."""


def make_compaction_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    prefix: str = "",
    pace: Pace = USUAL,
    interval_seconds: int = 30,
) -> dg.SensorDefinition:
    """A sensor that requests one run for each branch over pressure, the worst first.

    Args:
        job: Started with the op's configuration: see `sensors.compaction_requests`.
        resource_key: The resource with a method `graveler()`.
        prefix: Only branches whose `<repository>/<branch>` begins so: `lake/` for one repository.
        pace: How fast runs are asked for.
        interval_seconds: Least time between two ticks.
    """

    @dg.sensor(
        name=_named("compaction", prefix),
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Has branches compacted on which too much is staged.",
    )
    def over_pressure(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor = cursors.read(_Cursor, context.cursor)
        page = _looked_at(graveler.pressures(prefix, cursor.after, pace.page), set(cursor.over), pace.page)
        wanted = ((item, "; ".join(item.pressure.reasons)) for item in page.over)
        asked = ask(context.instance, job.name, wanted, pace)
        said = _said(page) + asked.words()
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
    """A sensor that asks for a failed compaction again, at once.

    For runs that broke: a process killed, a store away for longer than the op's own retries last. A failure that the op
    calls hopeless is left alone. After `at_most` times the sensors that asked first do so again, at a slower pace.

    Args:
        job: The job of compactions.
        name: The sensor's name.
        at_most: How many runs for the same layers may have ended before this one gives up.
    """

    @dg.run_failure_sensor(
        name=name,
        monitored_jobs=[job],
        request_job=job,
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Asks for a failed compaction again, a few times.",
    )
    def failed(context: dg.RunFailureSensorContext) -> dg.RunRequest | dg.SkipReason:
        run = context.dagster_run
        what = run.tags.get(COMPACTION_TAG)
        if what is None:
            return dg.SkipReason(f"run {run.run_id} was not asked for by a sensor")
        for event in context.get_step_failure_events():
            hopeless = event.step_failure_data.user_failure_data
            if hopeless is not None:
                return dg.SkipReason(f"run {run.run_id} need not be tried again: {hopeless.description}")
        epoch = len(ended_runs(context.instance, what))
        if epoch > at_most:
            return dg.SkipReason(f"{epoch} runs for {what} have ended, more than {at_most}: asked for later")
        if run.tags.get(UID_TAG) in branches_at_work(context.instance, job.name):
            return dg.SkipReason(f"another run compacts what run {run.run_id} did not")
        return asked_again(run, epoch)

    return failed


def _named(name: str, prefix: str) -> str:
    return "_".join([name, *"".join(c if c.isalnum() else " " for c in prefix).split()])


def _looked_at(found: Iterable[BranchPressure], were_over: set[str], size: int) -> _Page:
    from graveler_core.staging.pressure import pressure

    over, nearest, count, last = [], None, 0, ""
    for item in found:
        count, last = count + 1, item.token
        if nearest is None or item.pressure.value > nearest.pressure.value:
            nearest = item
        now = item.pressure
        if not now.over and _mark(item) in were_over:
            now = pressure(item.load, item.thresholds, was_over=True)
        if now.over:
            over.append(replace(item, pressure=now))
    over.sort(key=lambda item: -item.pressure.value)
    return _Page(count, over, nearest, last if count == size else "")


def _mark(item: BranchPressure) -> str:
    """A branch and its oldest layer: when that is gone, so is what was staged when the branch was last looked at."""
    sealed = item.branch.sealed_tokens
    oldest = sealed[-1].id if sealed else item.branch.staging_token
    return f"{item.token}:{oldest.rpartition(':')[2]}"


def _said(page: _Page) -> str:
    if page.nearest is None:
        return "no branch has counters: little is staged"
    counted = f"{page.looked_at:,} branches counted, {len(page.over):,} over pressure"
    if not page.over:
        return f"{counted}; highest: {_numbers(page.nearest)}"
    shown = ", ".join(_numbers(item) for item in page.over[:_REASONS_SHOWN])
    return f"{counted}: {shown}{', …' if len(page.over) > _REASONS_SHOWN else ''}"


def _numbers(item: BranchPressure) -> str:
    load = item.load
    return (
        f"{item.token} {item.pressure.value:.0%} ({load.tombstones:,} tombstones, {load.staged:,} staged records, "
        f"{load.layers} layers)"
    )


def _next(cursor: _Cursor, page: _Page) -> _Cursor:
    found = (*cursor.found, *(_mark(item) for item in page.over))[:_REMEMBERED]
    if page.last:
        return _Cursor(after=page.last, over=cursor.over, found=found)
    return _Cursor(over=found)
