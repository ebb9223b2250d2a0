"""A sensor that wakes the cleaning job early when many deleted repositories wait to be emptied.

A tick scans the entries that deleted repositories leave. After a run that did not help, the sensor asks again at an
ever slower pace: what cannot be removed is for people to look at, and the schedule tries it every hour anyway.
"""

from __future__ import annotations

import time
from datetime import timedelta
from typing import TYPE_CHECKING, Literal

import dagster as dg

from sensors import cursors
from sensors.run_states import ENDED, UNDER_WAY
from sensors.run_tags import WHY_TAG

if TYPE_CHECKING:
    from graveler_core.engine.cleaning import Waiting

_LONGEST_REST = 24 * 60 * 60.0
_MOST_IN_VAIN = 20
"""So many doublings outlast the longest rest; the count stops there."""


class _Cursor(cursors.Cursor):
    version: Literal[1] = 1
    asked: float = 0.0
    """When a run was asked for last, in seconds since 1970."""
    due: int = 0
    """How many repositories waited then."""
    in_vain: int = 0
    """How often in a row a run was asked for and no fewer waited afterwards."""


def make_leftovers_sensor(
    job: dg.JobDefinition,
    *,
    resource_key: str = "graveler",
    undelete_within: timedelta = timedelta(days=7),
    most: int = 20,
    interval_seconds: int = 300,
) -> dg.SensorDefinition:
    """A sensor that requests a run of the cleaning job while many deleted repositories are due.

    Args:
        job: The cleaning job; started without configuration.
        resource_key: The resource with a method `graveler()`.
        undelete_within: As the job's: for so long deleted repositories are left.
        most: So many due repositories are many.
        interval_seconds: Least time between two ticks.
    """

    @dg.sensor(
        name="leftovers",
        job=job,
        minimum_interval_seconds=interval_seconds,
        required_resource_keys={resource_key},
        default_status=dg.DefaultSensorStatus.RUNNING,
        description="Has the store cleaned up early when many deleted repositories wait.",
    )
    def many_wait(context: dg.SensorEvaluationContext) -> dg.SensorResult:
        graveler = getattr(context.resources, resource_key).graveler()
        cursor, now = cursors.read(_Cursor, context.cursor), time.time()
        left = graveler.waiting(undelete_within=undelete_within)
        said = _said(left, most)
        in_vain = min(cursor.in_vain + 1, _MOST_IN_VAIN) if cursor.asked and left.due >= cursor.due else 0
        rest = min(interval_seconds * 2.0**in_vain, _LONGEST_REST) if cursor.asked else 0.0
        if left.due < most:
            return dg.SensorResult(skip_reason=said, cursor=_Cursor().text())
        begun = dg.RunsFilter(job_name=job.name, statuses=[*UNDER_WAY, *ENDED])
        runs = context.instance.get_runs(begun, limit=1)
        if any(run.status in UNDER_WAY for run in runs):
            return dg.SensorResult(skip_reason=f"{said}; run {runs[0].run_id} is at work", cursor=context.cursor)
        if now - cursor.asked < rest:
            minutes = (now - cursor.asked) / 60
            why = f"{said}; asked for {minutes:.0f} minutes ago, {cursor.due:,} were due then"
            return dg.SensorResult(skip_reason=why, cursor=context.cursor)
        # One run after another: two ticks that know the same last run ask for the same.
        request = dg.RunRequest(run_key=f"cleaning/{runs[0].run_id if runs else 0}", tags={WHY_TAG: said})
        asked = _Cursor(asked=now, due=left.due, in_vain=in_vain)
        return dg.SensorResult(run_requests=[request], cursor=asked.text())

    return many_wait


def _said(left: Waiting, most: int) -> str:
    return (
        f"{left.due:,} deleted repositories are due, {most:,} are many; "
        f"{left.deleted + left.purging + left.restoring:,} are left in all"
    )
