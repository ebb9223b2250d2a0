"""A little of the flights' input, made up: the same columns, few rows, so that a whole run takes seconds."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs.nycflights import FLIGHTS_SCHEMA, WEATHER_SCHEMA, read_csv

AIRPORTS = ("EWR", "JFK", "LGA")
CARRIERS = ("AA", "HA", "UA")
FLIGHTS_A_DAY = len(AIRPORTS) * len(CARRIERS)
CANCELLED_A_DAY = 1
FIRST, DAYS = date(2013, 1, 1), 90


def write_flights(path: Path) -> Path:
    """January to March: at each airport one flight a carrier and day; UA from LGA never flies."""
    rows = [_names(FLIGHTS_SCHEMA)]
    for n in range(DAYS):
        day = FIRST + timedelta(days=n)
        for a, origin in enumerate(AIRPORTS):
            for c, carrier in enumerate(CARRIERS):
                flies = not (origin == "LGA" and carrier == "UA")
                delay = 10 * a + c + n % 7
                times = (900 + c, 900, delay, 1100, 1055, delay - 3) if flies else ("NA", 900, "NA", "NA", 1055, "NA")
                place = (carrier, 500 * (c + 1), "N1", origin, "ORD", 120 if flies else "NA", 730, 9, 0)
                rows.append(_row(day.year, day.month, day.day, *times, *place, f"{day}T14:00:00Z"))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def write_weather(path: Path) -> Path:
    """Two hours a day at each airport; the last day is missing, as it is in the real data."""
    rows = [_names(WEATHER_SCHEMA)]
    for n in range(DAYS - 1):
        day = FIRST + timedelta(days=n)
        for origin in AIRPORTS:
            for hour in (6, 18):
                values = (30 + hour, "NA", 50, 270, 10 + hour, "NA", 0.25, 1010, 10)
                rows.append(_row(origin, day.year, day.month, day.day, hour, *values, f"{day}T{hour:02}:00:00Z"))
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _names(schema: str) -> str:
    return ",".join(column.split()[0] for column in schema.split(","))


def _row(*values: object) -> str:
    return ",".join(map(str, values))


@pytest.fixture(scope="session")
def delivered(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    """January to March, as delivered."""
    return read_csv(spark, write_flights(tmp_path_factory.mktemp("input") / "flights.csv"), FLIGHTS_SCHEMA).cache()
