"""Collection of the content of a repository to which nothing refers: a job, and a schedule that runs it every day."""

from __future__ import annotations

from datetime import timedelta

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.collection import OP, collect_content
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.storage import GRACE, SHARE


def make_collection_job(  # noqa: PLR0913 - the options of a schedule, all of them optional
    graveler: GravelerResource,
    repository: str,
    *,
    dry_run: bool = True,
    grace: timedelta = GRACE,
    share: float = SHARE,
    inventory: str | None = None,
) -> dg.JobDefinition:
    """Return the job `<repository>_collection`.

    Args:
        graveler: The store. A `SparkGravelerResource` runs large collections on Spark.
        repository: Name of the repository.
        dry_run: Only report what a collection would do. Set it to false to delete content. The launchpad can change it
            for one run.
        grace: Least age of content to condemn, and least time between condemning and deleting.
        share: Maximum share of reclaimable bytes in the content. A larger share fails the check of
            `<repository>/storage`.
        inventory: URI of an inventory to read instead of listing the storage namespace, such as the `manifest.json` of
            S3 Inventory. The launchpad can set a newer one for each run.

    Returns:
        The job. In its name, each `-` of the repository name is replaced by `_`.
    """
    given = {
        "repository": repository,
        "dry_run": dry_run,
        "grace_hours": grace / timedelta(hours=1),
        "allowed_share": share,
        **({} if inventory is None else {"inventory": inventory}),
    }
    does = "Reports" if dry_run else "Deletes"
    return bound_job(
        dg.GraphDefinition(name=f"{repository}_collection".replace("-", "_"), node_defs=[collect_content]),
        graveler,
        f"{does} content of {repository} to which no commit, no branch and no upload refers, after a grace period. "
        "Does not change what readers see.",
        {OP: given},
    )


def make_collection_schedule(job: dg.JobDefinition, cron: str = "30 3 * * *") -> dg.ScheduleDefinition:
    """Return a schedule that runs a collection every day. It is on. The configuration of the job decides whether
    content is deleted.

    Args:
        job: Result of `make_collection_job`.
        cron: Cron expression of the schedule.

    Returns:
        The schedule, named as the job with the suffix `_schedule`.
    """
    return dg.ScheduleDefinition(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        description=f"Starts the job {job.name}, which is a dry run unless its configuration says otherwise.",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
