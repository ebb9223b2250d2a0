"""`cleaning_job`: permanently removes leftovers of deletions, crashes and committed layers."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.leftovers import BOUND, UNDELETE_WITHIN
from dagster_graveler.ops.cleaning import Times, make_clean_rest, make_empty_repository, make_find_deleted
from dagster_graveler.resources.graveler import GravelerResource

MOST = 200
"""Maximum number of deleted repositories with a step of their own. Others are emptied in the last step."""


def make_cleaning_job(
    graveler: GravelerResource,
    *,
    undelete_within: timedelta = UNDELETE_WITHIN,
    bound: timedelta = BOUND,
    most: int = MOST,
) -> dg.JobDefinition:
    """Return the cleaning job for one store.

    Args:
        graveler: The store.
        undelete_within: Time for which deleted repositories can be undeleted.
        bound: Additional time after which a leftover repository fails the check of `graveler/leftovers`.
        most: Maximum number of steps for deleted repositories.

    Returns:
        The job `cleaning_job`.
    """
    times = Times(undelete_within, undelete_within + bound, most)
    find_deleted, empty_repository = make_find_deleted(times), make_empty_repository(times)
    clean_rest = make_clean_rest(times)

    @dg.graph(name="cleaning_job")
    def cleaning() -> None:
        clean_rest(find_deleted().map(empty_repository).collect())

    return bound_job(
        cleaning,
        graveler,
        "Permanently remove the data of deleted repositories and the leftovers of crashes and commits. "
        "Does not change what readers see.",
    )


def make_cleaning_schedule(job: dg.JobDefinition, cron: str = "0 * * * *") -> dg.ScheduleDefinition:
    """Return a schedule that cleans every hour. It is on: a run removes nothing that can still be restored.

    Args:
        job: Result of `make_cleaning_job`.
        cron: Cron expression of the schedule.

    Returns:
        The schedule `cleaning_schedule`.
    """
    return dg.ScheduleDefinition(
        name="cleaning_schedule",
        job=job,
        cron_schedule=cron,
        description="Starts the cleaning job, which removes only what can no longer be restored.",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
