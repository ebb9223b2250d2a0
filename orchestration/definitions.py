"""Code location with everything that Dagster loads. Building it connects to nothing and starts nothing."""

from __future__ import annotations

import dagster as dg

from dagster_graveler.assets.branches import make_branches_asset
from dagster_graveler.assets.leftovers import make_leftovers_asset
from dagster_graveler.assets.pressure import make_pressure_asset
from dagster_graveler.assets.storage import make_storage_asset
from dagster_graveler.checks.leftovers import make_leftovers_check
from dagster_graveler.checks.pressure import make_pressure_check
from dagster_graveler.checks.storage import make_storage_check
from dagster_graveler.io_managers.graveler import GravelerIOManager
from dagster_graveler.jobs.cleaning import make_cleaning_job, make_cleaning_schedule
from dagster_graveler.jobs.collection import make_collection_job, make_collection_schedule
from dagster_graveler.jobs.compaction import make_compaction_job
from dagster_graveler.jobs.hooks import make_hooks_job, make_hooks_schedule
from dagster_graveler.jobs.importing import make_import_job
from dagster_graveler.jobs.namespaces import make_namespaces_job, make_namespaces_schedule
from dagster_graveler.jobs.pressure import make_pressure_schedule
from dagster_graveler.jobs.sweep import make_sweep_job, make_sweep_schedule
from dagster_graveler.jobs.versioning import make_versioning_jobs
from dagster_graveler.resources.graveler_branch import GravelerBranch
from dagster_graveler.resources.spark import local_pyspark
from dagster_graveler.resources.spark_graveler import SparkGravelerResource
from orchestration.publication import PUBLISHED, flights_publication, show_delays
from orchestration.resources.flights_source import FlightsSource
from sensors.branch_heads import flights_branches_moved
from sensors.compaction import compaction_sensors
from sensors.leftovers import leftovers_sensor

REPOSITORY = "flights"

pyspark = local_pyspark()
graveler = SparkGravelerResource(
    url=dg.EnvVar("GRAVELER_STORE"), threshold=dg.EnvVar.int("GRAVELER_SPARK_FROM"), pyspark=pyspark
)
branch = GravelerBranch(graveler=graveler, repository=REPOSITORY, storage_root=dg.EnvVar("GRAVELER_DATA"))
compaction_job = make_compaction_job(graveler)
cleaning_job = make_cleaning_job(graveler)
sweep_job = make_sweep_job(graveler, REPOSITORY)
collection_job = make_collection_job(graveler, REPOSITORY)
hooks_job = make_hooks_job(graveler, REPOSITORY)
namespaces_job = make_namespaces_job(graveler)
import_job = make_import_job(
    graveler,
    {
        "repository": REPOSITORY,
        "branch": "main",
        "source": {"env": "GRAVELER_INCOMING"},
        "destination": "incoming",
        "message": "What was delivered",
    },
)
branches = make_branches_asset(REPOSITORY)
pressure = make_pressure_asset(REPOSITORY)
storage = make_storage_asset(REPOSITORY)
leftovers = make_leftovers_asset()

defs = dg.Definitions.merge(
    flights_publication(),
    dg.Definitions(
        assets=[branches, pressure, storage, leftovers],
        asset_checks=[make_pressure_check(REPOSITORY), make_storage_check(REPOSITORY), make_leftovers_check()],
        jobs=[
            *(compaction_job, cleaning_job, sweep_job, collection_job, hooks_job, namespaces_job, import_job),
            *make_versioning_jobs(graveler, REPOSITORY),
        ],
        schedules=[
            make_pressure_schedule(REPOSITORY),
            make_cleaning_schedule(cleaning_job),
            make_sweep_schedule(sweep_job),
            make_collection_schedule(collection_job),
            make_hooks_schedule(hooks_job, repository=REPOSITORY),
            make_namespaces_schedule(namespaces_job),
        ],
        sensors=[
            flights_branches_moved(branches, PUBLISHED, show_delays),
            *compaction_sensors(compaction_job),
            leftovers_sensor(cleaning_job),
        ],
        resources={
            "graveler": graveler,
            "branch": branch,
            "pyspark": pyspark,
            "source": FlightsSource(pyspark=pyspark),
            "spark_tables": GravelerIOManager(branch=branch, pyspark=pyspark),
        },
        executor=dg.in_process_executor,  # also of assets that the UI launches: their steps share a Spark session
    ),
)
