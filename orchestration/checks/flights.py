"""What must hold before a batch of flights is published. All are blocking: one failure keeps the whole batch out.

The checks look at the tables whole, as they would be published, not at the new months alone: a flight that an earlier
month has already is found too.
"""

from collections.abc import Iterator, Sequence
from dataclasses import asdict

import dagster as dg

from jobs import quality
from orchestration.io_managers.spark_table import SparkTableIOManager

ROW_COUNT = "row_count"
KEYS_UNIQUE = "keys_unique"
DELAYS_WITHIN_BOUNDS = "delays_within_bounds"


def _specs(asset: str, names: Sequence[str]) -> list[dg.AssetCheckSpec]:
    return [dg.AssetCheckSpec(name, asset=asset, blocking=True) for name in names]


def _result(asset: str, name: str, passed: bool, measures: quality.Measures, **more: int) -> dg.AssetCheckResult:
    numbers = {k: v for k, v in {**asdict(measures), **more}.items() if v is not None}
    return dg.AssetCheckResult(check_name=name, asset_key=asset, passed=passed, metadata=numbers)


@dg.multi_asset_check(specs=_specs("raw_flights", [ROW_COUNT]))
def raw_flights_checks(spark_tables: dg.ResourceParam[SparkTableIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Something was delivered."""
    raw = quality.measure_raw(spark_tables.read("raw_flights"))
    yield _result("raw_flights", ROW_COUNT, raw.rows > 0, raw)


@dg.multi_asset_check(specs=_specs("raw_weather", [ROW_COUNT, KEYS_UNIQUE]))
def raw_weather_checks(spark_tables: dg.ResourceParam[SparkTableIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Something was delivered, no hour twice."""
    weather = quality.measure_weather(spark_tables.read("raw_weather"))
    yield _result("raw_weather", ROW_COUNT, weather.rows > 0, weather)
    yield _result("raw_weather", KEYS_UNIQUE, quality.keys_unique(weather), weather)


@dg.multi_asset_check(specs=_specs("cleaned_flights", [ROW_COUNT, KEYS_UNIQUE, DELAYS_WITHIN_BOUNDS]))
def cleaned_flights_checks(spark_tables: dg.ResourceParam[SparkTableIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Cleaning lost and made no row, no flight is there twice, no delay is absurd."""
    name = "cleaned_flights"
    flights = quality.measure_cleaned(spark_tables.read(name))
    delivered = spark_tables.read("raw_flights").count()
    yield _result(name, ROW_COUNT, flights.rows == delivered, flights, delivered=delivered)
    yield _result(name, KEYS_UNIQUE, quality.keys_unique(flights), flights)
    yield _result(name, DELAYS_WITHIN_BOUNDS, quality.delays_within_bounds(flights), flights)


@dg.multi_asset_check(specs=_specs("daily_delays", [ROW_COUNT, KEYS_UNIQUE, DELAYS_WITHIN_BOUNDS]))
def daily_delays_checks(spark_tables: dg.ResourceParam[SparkTableIOManager]) -> Iterator[dg.AssetCheckResult]:
    """Every flight is counted once, every airport has one row a day, no mean is absurd."""
    name = "daily_delays"
    daily = quality.measure_daily(spark_tables.read(name))
    flights = spark_tables.read("cleaned_flights").count()
    yield _result(name, ROW_COUNT, daily.flights == flights, daily, cleaned=flights)
    yield _result(name, KEYS_UNIQUE, quality.keys_unique(daily), daily)
    yield _result(name, DELAYS_WITHIN_BOUNDS, quality.delays_within_bounds(daily), daily)
