"""The tables of the flights pipeline: raw → cleaned → daily delays by airport, a partition a month of 2013.

Each is written on the run's own branch; only the published branch (`orchestration.assets.published`) is what others
should read.
"""

from collections.abc import Callable

import dagster as dg
from pyspark.sql import DataFrame

from jobs import flights
from orchestration.beta import beta_accepted
from orchestration.io_managers.spark_table import PARTITION_EXPR
from orchestration.resources.flights_source import FlightsSource

GROUP = "flights"
MONTHS = dg.MonthlyPartitionsDefinition(start_date="2013-01", end_date="2014-01", fmt="%Y-%m")


class Batch(dg.Config):
    """Which edition of the batch to take. As it stands, it is the real data."""

    correction: int = 0
    """A simulated later edition, in which a few arrival delays are corrected; 0 is the original."""
    spoil: bool = False
    """A simulated broken delivery: flights given twice, absurd delays."""


def _table(expression: str, description: str) -> Callable[[Callable[..., DataFrame]], dg.AssetsDefinition]:
    """A monthly table; `expression` gives a row's month. A run over several months writes them all at once."""
    with beta_accepted():
        return dg.asset(
            description=description,
            group_name=GROUP,
            partitions_def=MONTHS,
            backfill_policy=dg.BackfillPolicy.single_run(),
            io_manager_key="spark_tables",
            metadata={PARTITION_EXPR: expression},
            kinds={"pyspark", "parquet"},
            code_version="1",
        )


@_table(flights.RAW_MONTH, "Flights out of New York as they were delivered, one row a scheduled flight.")
def raw_flights(context: dg.AssetExecutionContext, config: Batch, source: FlightsSource) -> DataFrame:
    """The months asked for, from the package's CSV file."""
    batch = flights.of_months(source.flights(), context.partition_keys)
    batch = flights.corrected(batch, config.correction)
    return flights.spoiled(batch) if config.spoil else batch


@_table(flights.RAW_MONTH, "Weather at the three airports as it was delivered, one row an hour.")
def raw_weather(context: dg.AssetExecutionContext, source: FlightsSource) -> DataFrame:
    """The months asked for, from the package's CSV file."""
    return flights.of_months(source.weather(), context.partition_keys)


@_table(flights.DATED_MONTH, "Flights typed and dated, cancelled ones marked, one row a scheduled flight.")
def cleaned_flights(raw_flights: DataFrame) -> DataFrame:
    """Clean what was delivered."""
    return flights.cleaned(raw_flights)


@_table(flights.DATED_MONTH, "Delays by airport and day, joined with that day's weather.")
def daily_delays(cleaned_flights: DataFrame, raw_weather: DataFrame) -> DataFrame:
    """Aggregate by airport and day."""
    return flights.daily_delays(cleaned_flights, raw_weather)
