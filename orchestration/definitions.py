"""The code location: everything Dagster loads. Building it connects to nothing and starts nothing."""

from __future__ import annotations

import dagster as dg

from orchestration.assets.flights import cleaned_flights, daily_delays, raw_flights, raw_weather
from orchestration.assets.published import PUBLISHED, flights_main
from orchestration.checks.flights import (
    cleaned_flights_checks,
    daily_delays_checks,
    raw_flights_checks,
    raw_weather_checks,
)
from orchestration.io_managers.spark_table import SparkTableIOManager
from orchestration.jobs.flights import flights_pipeline
from orchestration.resources.flights_source import FlightsSource
from orchestration.resources.graveler import GravelerResource
from orchestration.resources.run_branch import RunBranch
from orchestration.resources.spark import local_pyspark
from sensors.published_branch import make_published_branch_sensor

REPOSITORY = "flights"

graveler = GravelerResource(url=dg.EnvVar("GRAVELER_STORE"))
pyspark = local_pyspark()
branch = RunBranch(graveler=graveler, repository=REPOSITORY, storage_root=dg.EnvVar("GRAVELER_DATA"))

defs = dg.Definitions(
    assets=[raw_flights, raw_weather, cleaned_flights, daily_delays, flights_main],
    asset_checks=[raw_flights_checks, raw_weather_checks, cleaned_flights_checks, daily_delays_checks],
    jobs=[flights_pipeline],
    sensors=[make_published_branch_sensor(PUBLISHED, repository=REPOSITORY, branch="main")],
    resources={
        "graveler": graveler,
        "branch": branch,
        "pyspark": pyspark,
        "source": FlightsSource(pyspark=pyspark),
        "spark_tables": SparkTableIOManager(branch=branch, pyspark=pyspark),
    },
)
