"""Tests of the measurements and verdicts of the checks."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from jobs import quality
from jobs.flights import cleaned, daily_delays, spoiled
from jobs.quality import Measures, delays_within_bounds, keys_unique, measure
from tests.flights_data import DAYS, FLIGHTS_A_DAY


@pytest.mark.parametrize(
    ("measures", "unique"),
    [
        (Measures(rows=3, distinct_keys=3, null_keys=0), True),
        (Measures(rows=0, distinct_keys=0, null_keys=0), True),
        (Measures(rows=3, distinct_keys=2, null_keys=0), False),
        (Measures(rows=3, distinct_keys=3, null_keys=1), False),
    ],
)
def test_keys_unique(measures: Measures, unique: bool) -> None:
    assert keys_unique(measures) is unique


@pytest.mark.parametrize(
    ("least", "most", "within"),
    [
        (-180.0, 1440.0, True),
        (-180.1, 0.0, False),
        (0.0, 1440.1, False),
        (None, None, True),
    ],
)
def test_delays_within_bounds(least: float | None, most: float | None, within: bool) -> None:
    assert delays_within_bounds(Measures(1, 1, 0, least=least, most=most)) is within


def test_measures_of_the_tables(delivered: DataFrame, weather: DataFrame) -> None:
    flights = cleaned(delivered)
    n = DAYS * FLIGHTS_A_DAY
    assert quality.measure_raw(delivered) == Measures(n, n, 0, flights=n)
    assert quality.measure_weather(weather) == Measures((DAYS - 1) * 6, (DAYS - 1) * 6, 0, flights=0)
    assert quality.measure_cleaned(flights) == Measures(n, n, 0, least=-3.0, most=27.0, flights=n)
    daily = quality.measure_daily(daily_delays(flights, weather))
    assert (daily.rows, daily.distinct_keys, daily.flights) == (DAYS * 3, DAYS * 3, n)
    bad = quality.measure_cleaned(cleaned(spoiled(delivered)))
    assert not keys_unique(bad)
    assert not delays_within_bounds(bad)


def test_null_keys_and_empty_tables(spark: SparkSession) -> None:
    table = spark.createDataFrame([(1, None, 5.0), (None, None, None), (2, 3, -5.0)], "a INT, b INT, delay DOUBLE")
    assert measure(table, ("a", "b"), ("delay",)) == Measures(3, 3, 2, least=-5.0, most=5.0, flights=3)
    assert measure(table.where("a = 9"), ("a", "b"), ("delay",)) == Measures(0, 0, 0, flights=0)
