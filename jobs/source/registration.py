"""The one line that makes a session know the data source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jobs.source.datasource import GravelerDataSource
from jobs.spark_errors import explained, require_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Let a session read and write `format("graveler")`, on this thread too. Repeating it changes nothing.

    Raises:
        InvalidInput: there is no session.
        Unavailable: it is stopped.
    """
    require_session(spark)
    with explained():
        spark.dataSource.register(GravelerDataSource)
        # Classic Spark looks for formats in the thread's active session; a new thread has none until this is called.
        spark.createDataFrame([], "n INT")
