"""Maintenance of a store and of one repository: sensors, jobs, schedules, assets and checks."""

from collections.abc import Mapping

import dagster as dg

from dagster_graveler.assets.branches import make_branches_asset
from dagster_graveler.assets.leftovers import make_leftovers_asset
from dagster_graveler.assets.pressure import make_pressure_asset
from dagster_graveler.checks.leftovers import make_leftovers_check
from dagster_graveler.checks.pressure import make_pressure_check
from dagster_graveler.jobs.cleaning import make_cleaning_job, make_cleaning_schedule
from dagster_graveler.jobs.compaction import make_compaction_job
from dagster_graveler.jobs.pressure import make_pressure_schedule
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor
from dagster_graveler.sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
from dagster_graveler.sensors.leftovers import make_leftovers_sensor
from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor


def maintenance(graveler: GravelerResource, repository: str, published: Mapping[str, dg.AssetKey]) -> dg.Definitions:
    """Return the maintenance of a store, and of one of its repositories.

    Args:
        graveler: The store, which is also the resource `graveler` of the definitions.
        repository: Name of the repository.
        published: Assets of published branches, by branch name.
    """
    branches = make_branches_asset(repository)
    compaction, cleaning = make_compaction_job(graveler), make_cleaning_job(graveler)
    return dg.Definitions(
        assets=[branches, make_pressure_asset(repository), make_leftovers_asset()],
        asset_checks=[make_pressure_check(repository), make_leftovers_check()],
        jobs=[compaction, cleaning],
        schedules=[make_pressure_schedule(repository), make_cleaning_schedule(cleaning)],
        sensors=[
            make_branch_heads_sensor(branches, repository=repository, published=published),
            make_compaction_sensor(compaction),
            make_sealed_tokens_sensor(compaction),
            make_compaction_failure_sensor(compaction),
            make_leftovers_sensor(cleaning),
        ],
    )
