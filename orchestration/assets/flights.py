"""Tables of the flights pipeline: raw flights → cleaned flights → daily delays by airport, with one partition for each
month of 2013.

Each table is written on the branch of the run. Consumers should read only the published branch
(`orchestration.publication`).
"""

from collections.abc import Callable

import dagster as dg
from pyspark.sql import DataFrame

from dagster_graveler.beta import beta_accepted
from dagster_graveler.io_managers.table_path import PARTITION_EXPR, PARTITION_NAMES
from jobs import flights
from orchestration.resources.flights_source import FlightsSource

GROUP = "flights"
DIRECTORIES = "flight_month"
"""Name of the partition directories: the delivered flights have a column `month`."""
MONTHS = dg.MonthlyPartitionsDefinition(start_date="2013-01", end_date="2014-01", fmt="%Y-%m")


class Batch(dg.Config):
    """Edition of a batch. The default is the real data."""

    correction: int = 0
    """Number of a simulated later edition, in which some arrival delays are corrected; 0 is the original."""
    spoil: bool = False
    """Simulate a broken delivery: duplicated flights and absurd delays."""


def _table(expression: str, description: str) -> Callable[[Callable[..., DataFrame]], dg.AssetsDefinition]:
    """Return a decorator for a monthly table.

    Args:
        expression: SQL expression for the month of a row. A run over several months writes all of them at once.
        description: Description of the asset.
    """
    with beta_accepted():
        return dg.asset(
            description=description,
            group_name=GROUP,
            partitions_def=MONTHS,
            backfill_policy=dg.BackfillPolicy.single_run(),
            io_manager_key="spark_tables",
            metadata={PARTITION_EXPR: expression, PARTITION_NAMES: DIRECTORIES},
            kinds={"pyspark", "parquet"},
            code_version="1",
        )


@_table(flights.RAW_MONTH, "Flights from New York as delivered, one row per scheduled flight.")
def raw_flights(context: dg.AssetExecutionContext, config: Batch, source: FlightsSource) -> DataFrame:
    """Read the requested months from the CSV file of the package."""
    batch = flights.of_months(source.flights(), context.partition_keys)
    batch = flights.corrected(batch, config.correction)
    return flights.spoiled(batch) if config.spoil else batch


@_table(flights.RAW_MONTH, "Weather at the three airports as delivered, one row per airport and hour.")
def raw_weather(context: dg.AssetExecutionContext, source: FlightsSource) -> DataFrame:
    """Read the requested months from the CSV file of the package."""
    return flights.of_months(source.weather(), context.partition_keys)


@_table(
    flights.DATED_MONTH, "Flights with typed columns, dates and a mark for cancellations, one row per scheduled flight."
)
def cleaned_flights(raw_flights: DataFrame) -> DataFrame:
    """Clean the delivered flights."""
    return flights.cleaned(raw_flights)


@_table(flights.DATED_MONTH, "Delays per airport and day, joined with the weather of the day.")
def daily_delays(cleaned_flights: DataFrame, raw_weather: DataFrame) -> DataFrame:
    """Aggregate delays by airport and day."""
    return flights.daily_delays(cleaned_flights, raw_weather)
