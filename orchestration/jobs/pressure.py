"""Measuring the pressure on a repository every hour, for its history."""

from __future__ import annotations

import dagster as dg

from orchestration.pressure import pressure_key


def make_pressure_schedule(repository: str) -> dg.ScheduleDefinition:
    """Materialize `<repository>/pressure` and its check at each full hour. Stopped until somebody turns it on.

    Args:
        repository: The repository's name.
    """
    job = dg.define_asset_job(
        f"{repository}_pressure".replace("-", "_"),
        selection=dg.AssetSelection.assets(pressure_key(repository)),
        description=f"Measure how much is staged on the branches of {repository}.",
        executor_def=dg.in_process_executor,
    )
    return dg.ScheduleDefinition(job=job, cron_schedule="0 * * * *", default_status=dg.DefaultScheduleStatus.STOPPED)
