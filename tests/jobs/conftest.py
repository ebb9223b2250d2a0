"""Spark, and a little input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.nycflights import FLIGHTS_SCHEMA, WEATHER_SCHEMA, read_csv
from tests.flights_data import write_flights, write_weather
from tests.postgresql_server import fresh_schema, running_server
from tests.spark_session import spark

__all__ = ["spark"]


@pytest.fixture(scope="session")
def delivered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """January to March, as delivered."""
    return read_csv(spark, write_flights(tmp_path_factory.mktemp("input") / "flights.csv"), FLIGHTS_SCHEMA).cache()


@pytest.fixture(scope="session")
def weather(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    return read_csv(spark, write_weather(tmp_path_factory.mktemp("input") / "weather.csv"), WEATHER_SCHEMA)


@pytest.fixture
def namespace(tmp_path: Path) -> str:
    """A storage namespace whose path would need escaping in a URI."""
    return (tmp_path / "a lake, 100 % real").as_uri()


@pytest.fixture(scope="session")
def postgresql_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a running server."""
    with running_server(tmp_path_factory) as url:
        yield url


@pytest.fixture
def postgresql_url(postgresql_server: str) -> Iterator[str]:
    """The URL of an empty schema on it."""
    with fresh_schema(postgresql_server) as url:
        yield url
