"""Maintenance of a store and of one repository: sensors, jobs, schedules, assets and checks."""

from collections.abc import Mapping
from datetime import timedelta

import dagster as dg
from pydantic import Field

from dagster_graveler.assets.branches import make_branches_asset
from dagster_graveler.assets.leftovers import make_leftovers_asset
from dagster_graveler.assets.pressure import make_pressure_asset
from dagster_graveler.assets.storage import make_storage_asset
from dagster_graveler.checks.leftovers import make_leftovers_check
from dagster_graveler.checks.pressure import make_pressure_check
from dagster_graveler.checks.storage import make_storage_check
from dagster_graveler.jobs.cleaning import make_cleaning_job, make_cleaning_schedule
from dagster_graveler.jobs.collection import make_collection_job, make_collection_schedule
from dagster_graveler.jobs.compaction import make_compaction_job
from dagster_graveler.jobs.hooks import make_hooks_job, make_hooks_schedule
from dagster_graveler.jobs.namespaces import make_namespaces_job, make_namespaces_schedule
from dagster_graveler.jobs.pressure import make_pressure_schedule
from dagster_graveler.jobs.sweep import make_sweep_job, make_sweep_schedule
from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.sensors.branch_heads import make_branch_heads_sensor
from dagster_graveler.sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
from dagster_graveler.sensors.leftovers import make_leftovers_sensor
from dagster_graveler.sensors.sealed_tokens import make_sealed_tokens_sensor
from dagster_graveler.storage import GRACE, SHARE


class LakeMaintenance(dg.Resolvable, dg.Model):
    """Options of the maintenance."""

    store: bool = Field(
        default=True,
        description="Also compact and clean up all repositories of the store. Set it to false in all but one component "
        "of a store.",
    )
    delete_content: bool = Field(
        default=False,
        description="Delete content to which no commit, no branch and no upload refers, and with `store` that of "
        "removed repositories, after the grace period. By default it is only reported.",
    )
    grace_days: float = Field(
        default=GRACE / timedelta(days=1),
        ge=1,
        description="Grace period of sweeps and collections in days. It must be longer than any job that writes.",
    )
    reclaimable_share: float = Field(
        default=SHARE,
        ge=0,
        le=1,
        description="Share of the content from which on reclaimable bytes fail the check of the storage.",
    )


def maintenance(
    graveler: GravelerResource, repository: str, published: Mapping[str, dg.AssetKey], options: LakeMaintenance
) -> dg.Definitions:
    """Return the maintenance of a repository, and of its store if asked for.

    Args:
        graveler: The store, which is also the resource `graveler` of the definitions.
        repository: Name of the repository.
        published: Assets of published branches, by branch name.
        options: Options.
    """
    branches, grace, share = (
        make_branches_asset(repository),
        timedelta(days=options.grace_days),
        options.reclaimable_share,
    )
    sweep = make_sweep_job(graveler, repository, grace=grace)
    collection = make_collection_job(graveler, repository, dry_run=not options.delete_content, grace=grace, share=share)
    hooks = make_hooks_job(graveler, repository)
    own = dg.Definitions(
        assets=[branches, make_pressure_asset(repository), make_storage_asset(repository, grace=grace)],
        asset_checks=[make_pressure_check(repository), make_storage_check(repository, share=share, grace=grace)],
        jobs=[sweep, collection, hooks],
        schedules=[
            make_pressure_schedule(repository),
            make_sweep_schedule(sweep),
            make_collection_schedule(collection),
            make_hooks_schedule(hooks, repository=repository),
        ],
        sensors=[make_branch_heads_sensor(branches, repository=repository, published=published)],
    )
    return dg.Definitions.merge(own, _store_maintenance(graveler, options)) if options.store else own


def _store_maintenance(graveler: GravelerResource, options: LakeMaintenance) -> dg.Definitions:
    """Return the maintenance of a store."""
    compaction, cleaning = make_compaction_job(graveler), make_cleaning_job(graveler)
    grace = timedelta(days=options.grace_days)
    namespaces = make_namespaces_job(graveler, dry_run=not options.delete_content, grace=grace)
    return dg.Definitions(
        assets=[make_leftovers_asset()],
        asset_checks=[make_leftovers_check()],
        jobs=[compaction, cleaning, namespaces],
        schedules=[make_cleaning_schedule(cleaning), make_namespaces_schedule(namespaces)],
        sensors=[
            make_compaction_sensor(compaction),
            make_sealed_tokens_sensor(compaction),
            make_compaction_failure_sensor(compaction),
            make_leftovers_sensor(cleaning),
        ],
    )
