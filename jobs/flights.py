"""Transformations of the flights pipeline: pure functions from DataFrame to DataFrame, raw → cleaned → daily delays.

Nothing here reads or writes data, so that the same functions run in Dagster, in a Spark job and in tests.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FLIGHT_KEY = ("flight_date", "carrier", "flight", "origin", "sched_dep_time")
"""Columns that identify a scheduled flight."""
RAW_MONTH = "date_format(make_date(year, month, 1), 'yyyy-MM')"
"""SQL expression for the month of a raw row, which is the pipeline's partition key."""
DATED_MONTH = "date_format(flight_date, 'yyyy-MM')"
"""SQL expression for the month of a cleaned or daily row."""
DELAYED_FROM_MINUTES = 15
"""Minimum delay in minutes of a departure that counts as delayed (the A15 convention of the airlines)."""


def of_months(flights: DataFrame, months: Sequence[str]) -> DataFrame:
    """Return the raw rows of some months, each written `2013-01`."""
    return flights.where(F.expr(RAW_MONTH).isin(list(months)))


def corrected(raw: DataFrame, correction: int) -> DataFrame:
    """Return a later edition of a batch: in one of a thousand flights, the reported arrival delay is a minute less.

    The selection is a pure function of the flight and of `correction`, so that an edition can be reproduced. The
    change is simulated (the data set has one edition only). 0 leaves the batch unchanged.
    """
    if correction == 0:
        return raw
    lot = F.pmod(F.xxhash64("year", "month", "day", "carrier", "flight", "origin"), F.lit(1000))
    revised = F.when(lot == correction % 1000, F.col("arr_delay") - 1).otherwise(F.col("arr_delay"))
    return raw.withColumn("arr_delay", revised)


def spoiled(raw: DataFrame) -> DataFrame:
    """Return a broken batch, for demonstrations and tests: some flights are duplicated, some have absurd delays."""
    twice = raw.where("carrier = 'HA'")
    absurd = F.when(F.col("carrier") == "OO", F.lit(99_999.0)).otherwise(F.col("dep_delay"))
    late = F.when(F.col("flight") % 500 == 0, F.lit(99_999.0)).otherwise(absurd)
    return raw.withColumn("dep_delay", late).unionByName(twice)


def cleaned(raw: DataFrame) -> DataFrame:
    """Return one row per scheduled flight, with types and dates, and with cancelled flights marked.

    Columns: the flight's key, `dest`, `tailnum`, `sched_dep_hour` (UTC), `cancelled`, `dep_delay`, `arr_delay`,
    `air_time` (minutes, null if cancelled or diverted), `distance` (miles). Rows are neither dropped nor merged: the
    checks must find duplicates, so this step must not hide them.
    """
    return raw.select(
        F.make_date("year", "month", "day").alias("flight_date"),
        "carrier",
        "flight",
        "origin",
        "sched_dep_time",
        "dest",
        "tailnum",
        F.col("time_hour").alias("sched_dep_hour"),
        F.col("dep_time").isNull().alias("cancelled"),
        "dep_delay",
        "arr_delay",
        "air_time",
        "distance",
    )


def daily_weather(weather: DataFrame) -> DataFrame:
    """Return one row per airport and day: mean temperature (°F), rain (in), strongest wind (mph), least visibility
    (miles).
    """
    return weather.groupBy("origin", F.make_date("year", "month", "day").alias("flight_date")).agg(
        F.avg("temp").alias("temp_mean"),
        F.sum("precip").alias("precip_sum"),
        F.max("wind_speed").alias("wind_max"),
        F.min("visib").alias("visib_min"),
    )


def daily_delays(flights: DataFrame, weather: DataFrame) -> DataFrame:
    """Return one row per airport and day: flights, cancellations, delays in minutes, and the day's weather (null if
    unknown).

    Args:
        flights: Rows as returned by `cleaned`.
        weather: Hourly weather, as returned by `jobs.nycflights.read_weather`.
    """
    delayed = (F.col("dep_delay") >= DELAYED_FROM_MINUTES).cast("double")
    by_day = flights.groupBy("origin", "flight_date").agg(
        F.count("*").alias("flights"),
        F.count_if("cancelled").alias("cancelled"),
        F.avg("dep_delay").alias("dep_delay_mean"),
        F.percentile_approx("dep_delay", 0.9).alias("dep_delay_p90"),
        F.avg("arr_delay").alias("arr_delay_mean"),
        F.avg(delayed).alias("delayed_share"),
    )
    return by_day.join(F.broadcast(daily_weather(weather)), ["origin", "flight_date"], "left")
