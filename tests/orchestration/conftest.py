"""The real job on a little input, in a local installation."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import dagster as dg
import pytest
from pyspark.sql import SparkSession

from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from jobs.nycflights import FLIGHTS_SCHEMA, WEATHER_SCHEMA, read_csv
from orchestration.progress import pipeline
from tests.dagster_installation import fail_once, graveler, installation, instance
from tests.flights_data import write_flights, write_weather
from tests.orchestration.ui_server import server
from tests.spark_session import spark

__all__ = ["fail_once", "graveler", "installation", "instance", "server", "spark"]
JANUARY = {"dagster/partition": "2013-01"}


@pytest.fixture
def little_input(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """January to March, made up, in place of the year."""
    flights, weather = write_flights(tmp_path / "flights.csv"), write_weather(tmp_path / "weather.csv")
    monkeypatch.setattr("jobs.nycflights.read_flights", lambda s, _: read_csv(s, flights, FLIGHTS_SCHEMA))
    monkeypatch.setattr("jobs.nycflights.read_weather", lambda s: read_csv(s, weather, WEATHER_SCHEMA))


class Pipeline:
    """`flights_pipeline` on the installation at hand."""

    def __init__(self, instance: dg.DagsterInstance, graveler: Graveler) -> None:
        self.instance = instance
        self._graveler = graveler

    def run(
        self, tags: Mapping[str, str] = JANUARY, *, resumes: str | None = None, **batch: Any
    ) -> dg.JobExecutionResult:
        """Execute the job in this process. `resumes`: the id of a failed run to go on with."""
        options = dg.ReexecutionOptions.from_failure(resumes, self.instance) if resumes else None
        result = dg.execute_job(
            dg.reconstructable(pipeline),
            self.instance,
            run_config={
                "loggers": {"console": {"config": {"log_level": "CRITICAL"}}},
                "ops": {"raw_flights": {"config": batch}},
            },
            tags=tags,
            reexecution_options=options,
        )
        for event in result.filter_events(lambda e: e.is_failure):
            print(event.step_key, event.message, event.event_specific_data)  # pytest shows it if the test fails
        return result

    @property
    def repository(self) -> Repository:
        return self._graveler.repository("flights")

    def history(self, ref: str = "main") -> list[str]:
        """Ids of the commits of a branch, newest first."""
        return [commit.id for commit in self.repository.log(ref, first_parent=True)]

    def branches(self) -> list[str]:
        return [branch.id for branch in self.repository.branches()]

    def reported(self) -> list[dg.AssetMaterialization]:
        """Return the materializations of the publish asset, newest first."""
        found = self.instance.fetch_materializations(dg.AssetKey(["flights", "main", "publish"]), limit=100)
        return [record.asset_materialization for record in found.records if record.asset_materialization]


@pytest.fixture
def flights(little_input: None, instance: dg.DagsterInstance, graveler: Graveler) -> Pipeline:
    return Pipeline(instance, graveler)
