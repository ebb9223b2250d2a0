"""Checks of a batch of flights before it is published. All are blocking: one failure holds the whole batch back.

The checks read whole tables as they would be published, so they also find flights that an earlier month contains
already.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict

import dagster as dg
from pyspark.sql import DataFrame

from dagster_graveler.io_managers.graveler import GravelerIOManager
from jobs import quality

ROW_COUNT = "row_count"
KEYS_UNIQUE = "keys_unique"
DELAYS_WITHIN_BOUNDS = "delays_within_bounds"


def _specs(asset: str, described: Mapping[str, str]) -> list[dg.AssetCheckSpec]:
    return [dg.AssetCheckSpec(name, asset=asset, description=text, blocking=True) for name, text in described.items()]


def _result(asset: str, name: str, passed: bool, measures: quality.Measures, **more: int) -> dg.AssetCheckResult:
    numbers = {k: v for k, v in {**asdict(measures), **more}.items() if v is not None}
    return dg.AssetCheckResult(check_name=name, asset_key=asset, passed=passed, metadata=numbers)


@dg.multi_asset_check(specs=_specs("raw_flights", {ROW_COUNT: "Flights were delivered."}))
def raw_flights_checks(spark_tables: dg.ResourceParam[GravelerIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Check that flights were delivered."""
    raw = quality.measure_raw(spark_tables.load_table("raw_flights", DataFrame))
    yield _result("raw_flights", ROW_COUNT, raw.rows > 0, raw)


@dg.multi_asset_check(
    specs=_specs(
        "raw_weather", {ROW_COUNT: "Weather was delivered.", KEYS_UNIQUE: "Each airport has one row for an hour."}
    )
)
def raw_weather_checks(spark_tables: dg.ResourceParam[GravelerIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Check that weather was delivered, with no duplicated hours."""
    weather = quality.measure_weather(spark_tables.load_table("raw_weather", DataFrame))
    yield _result("raw_weather", ROW_COUNT, weather.rows > 0, weather)
    yield _result("raw_weather", KEYS_UNIQUE, quality.keys_unique(weather), weather)


@dg.multi_asset_check(
    specs=_specs(
        "cleaned_flights",
        {
            ROW_COUNT: "Cleaning lost and created no rows.",
            KEYS_UNIQUE: "No flight occurs twice, also not in different months.",
            DELAYS_WITHIN_BOUNDS: "No delay is implausible.",
        },
    )
)
def cleaned_flights_checks(spark_tables: dg.ResourceParam[GravelerIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Check that cleaning lost and created no rows, that flights are unique, and that delays are within bounds."""
    name = "cleaned_flights"
    flights = quality.measure_cleaned(spark_tables.load_table(name, DataFrame))
    delivered = spark_tables.load_table("raw_flights", DataFrame).count()
    yield _result(name, ROW_COUNT, flights.rows == delivered, flights, delivered=delivered)
    yield _result(name, KEYS_UNIQUE, quality.keys_unique(flights), flights)
    yield _result(name, DELAYS_WITHIN_BOUNDS, quality.delays_within_bounds(flights), flights)


@dg.multi_asset_check(
    specs=_specs(
        "daily_delays",
        {
            ROW_COUNT: "Each flight is counted once.",
            KEYS_UNIQUE: "Each airport has one row for a day.",
            DELAYS_WITHIN_BOUNDS: "No mean delay is implausible.",
        },
    )
)
def daily_delays_checks(spark_tables: dg.ResourceParam[GravelerIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Check that every flight is counted once, that each airport has one row per day, and that means are within
    bounds.
    """
    name = "daily_delays"
    daily = quality.measure_daily(spark_tables.load_table(name, DataFrame))
    flights = spark_tables.load_table("cleaned_flights", DataFrame).count()
    yield _result(name, ROW_COUNT, daily.flights == flights, daily, cleaned=flights)
    yield _result(name, KEYS_UNIQUE, quality.keys_unique(daily), daily)
    yield _result(name, DELAYS_WITHIN_BOUNDS, quality.delays_within_bounds(daily), daily)
