"""The code location: everything Dagster loads. Building it connects to nothing and starts nothing."""

from __future__ import annotations

import dagster as dg

from orchestration.assets.branches import make_branches_asset
from orchestration.assets.flights import cleaned_flights, daily_delays, raw_flights, raw_weather
from orchestration.assets.leftovers import make_leftovers_asset
from orchestration.assets.pressure import make_pressure_asset
from orchestration.assets.published import PUBLISHED, flights_main
from orchestration.checks.flights import (
    cleaned_flights_checks,
    daily_delays_checks,
    raw_flights_checks,
    raw_weather_checks,
)
from orchestration.checks.leftovers import make_leftovers_check
from orchestration.checks.pressure import make_pressure_check
from orchestration.io_managers.spark_table import SparkTableIOManager
from orchestration.jobs.cleaning import make_cleaning_job, make_cleaning_schedule
from orchestration.jobs.compaction import make_compaction_job
from orchestration.jobs.flights import flights_pipeline
from orchestration.jobs.importing import make_import_job
from orchestration.jobs.pressure import make_pressure_schedule
from orchestration.jobs.versioning import make_versioning_jobs
from orchestration.resources.flights_source import FlightsSource
from orchestration.resources.run_branch import RunBranch
from orchestration.resources.spark import local_pyspark
from orchestration.resources.spark_graveler import SparkGravelerResource
from sensors.branch_heads import make_branch_heads_sensor
from sensors.compaction import make_compaction_failure_sensor, make_compaction_sensor
from sensors.leftovers import make_leftovers_sensor
from sensors.sealed_tokens import make_sealed_tokens_sensor

REPOSITORY = "flights"

pyspark = local_pyspark()
graveler = SparkGravelerResource(
    url=dg.EnvVar("GRAVELER_STORE"), threshold=dg.EnvVar.int("GRAVELER_SPARK_FROM"), pyspark=pyspark
)
branch = RunBranch(graveler=graveler, repository=REPOSITORY, storage_root=dg.EnvVar("GRAVELER_DATA"))
compaction_job = make_compaction_job(graveler)
cleaning_job = make_cleaning_job(graveler)
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
leftovers = make_leftovers_asset()

defs = dg.Definitions(
    assets=[raw_flights, raw_weather, cleaned_flights, daily_delays, flights_main, branches, pressure, leftovers],
    asset_checks=[
        raw_flights_checks,
        raw_weather_checks,
        cleaned_flights_checks,
        daily_delays_checks,
        make_pressure_check(REPOSITORY),
        make_leftovers_check(),
    ],
    jobs=[flights_pipeline, compaction_job, cleaning_job, import_job, *make_versioning_jobs(graveler, REPOSITORY)],
    schedules=[make_pressure_schedule(REPOSITORY), make_cleaning_schedule(cleaning_job)],
    sensors=[
        make_branch_heads_sensor(branches, repository=REPOSITORY, published={"main": PUBLISHED}),
        make_compaction_sensor(compaction_job),
        make_compaction_failure_sensor(compaction_job),
        make_sealed_tokens_sensor(compaction_job),
        make_leftovers_sensor(cleaning_job),
    ],
    resources={
        "graveler": graveler,
        "branch": branch,
        "pyspark": pyspark,
        "source": FlightsSource(pyspark=pyspark),
        "spark_tables": SparkTableIOManager(branch=branch, pyspark=pyspark),
    },
)
