"""`cleaning_job`: what deletions, crashes and committed layers left behind, removed for good; every hour if wanted."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from orchestration.cleaning import BOUND, UNDELETE_WITHIN
from orchestration.jobs.bound import bound_job
from orchestration.ops.cleaning import Times, make_clean_rest, make_empty_repository, make_find_deleted
from orchestration.resources.graveler import GravelerResource

MOST = 200
"""Deleted repositories that get a step of their own in a run; the others are emptied in its last step."""


def make_cleaning_job(
    graveler: GravelerResource,
    *,
    undelete_within: timedelta = UNDELETE_WITHIN,
    bound: timedelta = BOUND,
    most: int = MOST,
) -> dg.JobDefinition:
    """The job, on one store.

    Args:
        graveler: The store to clean up.
        undelete_within: Deleted repositories are left for so long: they can be restored.
        bound: The check of `graveler/leftovers` fails if one is there for so much longer.
        most: How many steps a run has for them.
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
        "Remove for good what deleted repositories, crashes and committed layers left behind. "
        "Changes nothing that anybody reads.",
    )


def make_cleaning_schedule(job: dg.JobDefinition, cron: str = "0 * * * *") -> dg.ScheduleDefinition:
    """Clean up at each full hour. Stopped until somebody turns it on.

    Args:
        job: The job of `make_cleaning_job`.
        cron: Other times.
    """
    return dg.ScheduleDefinition(
        name="cleaning_schedule",
        job=job,
        cron_schedule=cron,
        default_status=dg.DefaultScheduleStatus.STOPPED,
    )
