"""Sweep of a repository, and trimming of its reflog: a job, and a schedule that runs it every day."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.sweep import OP, sweep_repository
from dagster_graveler.ops.trimming import OP as TRIM
from dagster_graveler.ops.trimming import trim_reflog
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE


def make_sweep_job(
    graveler: GravelerResource, repository: str, *, grace: timedelta = GRACE, uploads: bool = True
) -> dg.JobDefinition:
    """Return the job `<repository>_sweep`. Its two steps, the sweep and the trimming of the reflog, do not depend on
    each other: if one fails, the other still runs.

    Args:
        graveler: The store.
        repository: Name of the repository.
        grace: Least age of objects to delete. At least a day, and longer than any commit, merge or compaction.
        uploads: Also delete files that failed jobs uploaded and never committed.

    Returns:
        The job. In its name, each `-` of the repository name is replaced by `_`.
    """
    given = {"repository": repository, "grace_hours": grace / timedelta(hours=1), "uploads": uploads}
    return bound_job(
        dg.GraphDefinition(name=f"{repository}_sweep".replace("-", "_"), node_defs=[sweep_repository, trim_reflog]),
        graveler,
        f"Delete parts of commits of {repository} that nothing refers to, and files of failed jobs, and trim the "
        "reflog. Commits are kept. Does not change what readers see.",
        {OP: given, TRIM: {"repository": repository}},
    )


def make_sweep_schedule(job: dg.JobDefinition, cron: str = "0 3 * * *") -> dg.ScheduleDefinition:
    """Return a schedule that sweeps every day. It is on: a sweep deletes nothing that is younger than its grace period.

    Args:
        job: Result of `make_sweep_job`.
        cron: Cron expression of the schedule.

    Returns:
        The schedule, named as the job with the suffix `_schedule`.
    """
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        description=f"Starts the job {job.name}, which deletes only what nothing has needed for its grace period.",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
