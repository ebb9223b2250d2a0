"""Delivery of webhooks: a job that calls webhooks that other processes have not called, and a schedule for it."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.jobs.bound import bound_job
from dagster_graveler.ops.hooks import OP, deliver_hooks
from dagster_graveler.resources.graveler import GravelerResource


def make_hooks_job(graveler: GravelerResource, repository: str) -> dg.JobDefinition:
    """Return the job `<repository>_deliver_hooks` for one repository.

    Args:
        graveler: The store.
        repository: Name of the repository.

    Returns:
        The job. In its name, each `-` of the repository name is replaced by `_`.
    """
    return bound_job(
        dg.GraphDefinition(name=f"{repository}_deliver_hooks".replace("-", "_"), node_defs=[deliver_hooks]),
        graveler,
        "Calls the webhooks after changes whose process ended before it called them, and shows the newest runs.",
        {OP: {"repository": repository}},
    )


def make_hooks_schedule(
    job: dg.JobDefinition, *, repository: str, resource_key: str = "graveler", cron: str = "0 * * * *"
) -> dg.ScheduleDefinition:
    """Return a schedule that runs the job every hour if the repository has hooks. It is on.

    Args:
        job: Result of `make_hooks_job`.
        repository: Name of the repository.
        resource_key: Key of a resource with a method `graveler()`.
        cron: Cron expression of the schedule.

    Returns:
        The schedule, named as the job with the suffix `_schedule`.
    """

    @dg.schedule(
        name=f"{job.name}_schedule",
        job=job,
        cron_schedule=cron,
        required_resource_keys={resource_key},
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description="Starts the job that calls the webhooks which other processes could not call.",
    )
    def with_hooks(context: dg.ScheduleEvaluationContext) -> dg.RunRequest | dg.SkipReason:
        from graveler_core.errors import NotFound

        try:
            found = getattr(context.resources, resource_key).graveler().repository(repository)
        except NotFound:
            return dg.SkipReason(f"repository {repository} does not exist yet")
        if not found.hooks() and not list(found.hook_runs(limit=1)):
            return dg.SkipReason(f"repository {repository} has no hooks")
        return dg.RunRequest()

    return with_hooks
