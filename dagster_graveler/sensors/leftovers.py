"""Sensor that starts the cleaning job early if many deleted repositories are waiting.

A tick scans the entries of deleted repositories. After a run that did not help, the sensor waits longer before each
next request: objects that cannot be removed need a person, and the schedule tries every hour anyway.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import dagster as dg

from dagster_graveler.run_tags import WHY_TAG
from dagster_graveler.sensors import cursors
from dagster_graveler.sensors.run_states import ENDED, UNDER_WAY
from graveler_core.model.counting import counted

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Waiting

_LONGEST_REST = 24 * 60 * 60.0
_MOST_IN_VAIN = 20
"""Maximum number of doublings of the waiting time, which exceeds the longest waiting time."""


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    asked: float = 0.0
    """Time of the last request, in seconds since 1970."""
    due: int = 0
    """Number of waiting repositories at the last request."""
    in_vain: int = 0
    """Number of consecutive requests after which no fewer repositories were waiting."""


def make_leftovers_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    undelete_within: timedelta = timedelta(days=7),
    most: int = 20,
    interval_seconds: int = 300,
) -> dg.SensorDefinition:
    """Return a sensor that requests a run of the cleaning job while many deleted repositories are due.

    Args:
        job: The cleaning job; started without configuration.
        resource_key: Key of a resource with a method `graveler()`.
        undelete_within: Time for which deleted repositories can be undeleted; the same as in the job.
        most: Minimum number of due repositories for which a run is requested.
        interval_seconds: Minimum time between two ticks.

    Returns:
        The sensor `leftovers`.
    """

    @dg.sensor(
        name="leftovers",
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Starts the cleaning job early if many deleted repositories wait for it.",
    )
    def many_wait(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor, now = cursors.read(_Cursor, context.cursor), time.time()
        left = graveler.waiting(undelete_within=undelete_within)
        said = _summary(left, most)
        in_vain = min(cursor.in_vain + 1, _MOST_IN_VAIN) if cursor.asked and left.due >= cursor.due else 0
        rest = min(interval_seconds * 2.0**in_vain, _LONGEST_REST) if cursor.asked else 0.0
        if left.due < most:
            return dg.SensorResult(skip_reason=said, cursor=_Cursor().text())
        begun = dg.RunsFilter(job_name=job.name, statuses=[*UNDER_WAY, *ENDED])
        runs = context.instance.get_runs(begun, limit=1)
        if any(run.status in UNDER_WAY for run in runs):
            return dg.SensorResult(skip_reason=f"{said}; run {runs[0].run_id} is active", cursor=context.cursor)
        if abs(now - cursor.asked) < rest:  # a time that is later still is that of a wrong clock
            minutes = max(0.0, now - cursor.asked) / 60
            why = (
                f"{said}; last requested {counted(round(minutes), 'minute')} ago, when "
                f"{counted(cursor.due, 'was', 'were')} due"
            )
            return dg.SensorResult(skip_reason=why, cursor=context.cursor)
        # Runs do not overlap: two ticks that see the same last run request the same run.
        request = dg.RunRequest(run_key=f"cleaning/{runs[0].run_id if runs else 0}", tags={WHY_TAG: said})
        asked = _Cursor(asked=now, due=left.due, in_vain=in_vain)
        return dg.SensorResult(run_requests=[request], cursor=asked.text())

    return many_wait


def _summary(left: Waiting, most: int) -> str:
    return (
        f"{counted(left.due, 'deleted repository')} can be removed now, and the job is started early from {most:,} on; "
        f"{counted(left.deleted + left.purging + left.restoring, 'waits', 'wait')} in total"
    )
