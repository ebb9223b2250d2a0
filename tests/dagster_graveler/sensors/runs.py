"""Runs of a compaction job as the daemon would make them of requests."""

from typing import Any

import dagster as dg

from dagster_graveler.sensors.compaction_requests import OP


class Told(dg.Config):
    """As the real op's configuration."""

    repository: str
    branch: str
    every_minutes: float


class Fates:
    """What becomes of the next run."""

    error: Exception | None = None


@dg.op(name=OP)
def compact(config: Told) -> None:
    if Fates.error is not None:
        raise Fates.error


@dg.job(name="compaction_job", executor_def=dg.in_process_executor)
def compaction() -> None:
    compact()


def run(instance: dg.DagsterInstance, request: dg.RunRequest, error: Exception | None = None) -> Any:
    """Run a request; `error` is how its op ends."""
    Fates.error = error
    tags = {**request.tags, "dagster/run_key": request.run_key or ""}
    return compaction.execute_in_process(
        instance=instance, run_config=request.run_config, tags=tags, raise_on_error=False
    )


def queue(instance: dg.DagsterInstance, request: dg.RunRequest, status: dg.DagsterRunStatus) -> None:
    """A run that has not ended."""
    instance.create_run_for_job(compaction, run_config=request.run_config, tags=dict(request.tags), status=status)
