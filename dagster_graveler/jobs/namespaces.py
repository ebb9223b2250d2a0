"""Deletion of the content of removed repositories: a job, and a schedule that runs it every day."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.namespaces import OP, empty_namespaces
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE


def make_namespaces_job(
    graveler: GravelerResource, *, dry_run: bool = True, grace: timedelta = GRACE
) -> dg.JobDefinition:
    """Return the job `namespaces_job` for one store. Do not delete content if another store uses the same namespaces.

    Args:
        graveler: The store.
        dry_run: Only report what would be deleted. Set it to false to delete content. The launchpad can change it for
            one run.
        grace: Least time between reserving a storage namespace, deleting its content, and releasing it.

    Returns:
        The job.
    """
    does = "Reports" if dry_run else "Deletes"
    return bound_job(
        dg.GraphDefinition(name="namespaces_job", node_defs=[empty_namespaces]),
        graveler,
        f"{does} the content of repositories that the cleaning job has removed, after a grace period, and releases "
        "their storage namespaces.",
        {OP: {"dry_run": dry_run, "grace_hours": grace / timedelta(hours=1)}},
    )


def make_namespaces_schedule(job: dg.JobDefinition, cron: str = "0 4 * * *") -> dg.ScheduleDefinition:
    """Return a schedule that runs the job every day. It is on. The configuration of the job decides whether content is
    deleted.

    Args:
        job: Result of `make_namespaces_job`.
        cron: Cron expression of the schedule.

    Returns:
        The schedule `namespaces_schedule`.
    """
    return dg.ScheduleDefinition(
        name="namespaces_schedule",
        job=job,
        cron_schedule=cron,
        description="Starts the job namespaces_job, which is a dry run unless its configuration says otherwise.",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
