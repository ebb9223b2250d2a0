"""Measures for the checks of the flights pipeline: each table is measured in one pass, and the measures are judged.

Spark computes the measures. Plain Python judges these few numbers, so that this can be tested without Spark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F

from jobs.flights import FLIGHT_KEY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

EARLIEST_MINUTES = -180.0
LATEST_MINUTES = 1_440.0
"""Bounds of a plausible delay: three hours early to a day late (the extremes of the data are -86 and 1,301)."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Measures of one table. `least` and `most` are minutes of delay, `None` if no row has one."""

    rows: int
    distinct_keys: int
    null_keys: int
    least: float | None = None
    most: float | None = None
    flights: int = 0
    """Number of flights that the rows represent."""


def measure(table: DataFrame, key: Sequence[str], delays: Sequence[str] = (), flights: str = "1") -> Measures:
    """Measure a table in one pass. `flights` is the SQL expression for the number of flights that a row represents."""
    columns = [
        F.count("*").alias("rows"),
        F.countDistinct(F.struct(*key)).alias("distinct_keys"),
        F.count_if(F.greatest(*[F.col(c).isNull() for c in key])).alias("null_keys"),
        F.coalesce(F.sum(F.expr(flights)), F.lit(0)).alias("flights"),
    ]
    if delays:
        least, most = [F.min(d) for d in delays], [F.max(d) for d in delays]
        columns.append((F.least(*least) if len(least) > 1 else least[0]).alias("least"))
        columns.append((F.greatest(*most) if len(most) > 1 else most[0]).alias("most"))
    row: dict[str, Any] = table.agg(*columns).collect()[0].asDict()
    return Measures(**row)


def measure_raw(raw: DataFrame) -> Measures:
    """Measure the raw table."""
    return measure(raw, ("year", "month", "day", "carrier", "flight", "origin", "sched_dep_time"))


def measure_weather(weather: DataFrame) -> Measures:
    """Measure the raw weather; its rows represent no flights."""
    return measure(weather, ("origin", "time_hour"), flights="0")


def measure_cleaned(flights: DataFrame) -> Measures:
    """Measure the cleaned table."""
    return measure(flights, FLIGHT_KEY, ("dep_delay", "arr_delay"))


def measure_daily(daily: DataFrame) -> Measures:
    """Measure the daily table."""
    return measure(daily, ("origin", "flight_date"), ("dep_delay_mean", "arr_delay_mean"), flights="flights")


def keys_unique(m: Measures) -> bool:
    """Return `True` if every row has a complete key, and the keys are unique."""
    return m.null_keys == 0 and m.distinct_keys == m.rows


def delays_within_bounds(m: Measures) -> bool:
    """Return `True` if no delay is implausible. A table without delays passes, because cancelled flights have none."""
    return (m.least is None or m.least >= EARLIEST_MINUTES) and (m.most is None or m.most <= LATEST_MINUTES)
