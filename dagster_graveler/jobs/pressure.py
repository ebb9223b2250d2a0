"""Hourly measurement of the compaction pressure of a repository."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.pressure import pressure_key


def make_pressure_schedule(repository: str) -> dg.ScheduleDefinition:
    """Return a schedule that materializes `<repository>/pressure` and its check every hour. It is on: a run only reads.

    Args:
        repository: Name of the repository.

    Returns:
        The schedule, with a job of its own.
    """
    job = dg.define_asset_job(
        f"{repository}_pressure".replace("-", "_"),
        selection=dg.AssetSelection.assets(pressure_key(repository)),
        description=f"Measure the compaction pressure of the branches of {repository} every hour.",
        executor_def=dg.in_process_executor,
    )
    return dg.ScheduleDefinition(
        job=job,
        cron_schedule="0 * * * *",
        description=f"Measures the compaction pressure of {repository} every hour.",
        default_status=dg.DefaultScheduleStatus.RUNNING,
    )
