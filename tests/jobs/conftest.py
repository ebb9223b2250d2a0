"""Spark, and a little input."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.nycflights import WEATHER_SCHEMA, read_csv
from tests.flights_data import delivered, write_weather
from tests.spark_session import spark

__all__ = ["delivered", "spark"]


@pytest.fixture(scope="session")
def weather(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return read_csv(spark, write_weather(tmp_path_factory.mktemp("input") / "weather.csv"), WEATHER_SCHEMA)
