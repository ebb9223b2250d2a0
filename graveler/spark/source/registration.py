"""Registration of the data source in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graveler.spark.environment_errors import explained, require_session
from graveler.spark.source.datasource import GravelerDataSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def register(spark: SparkSession) -> None:
    """Register `format("graveler")` in a session, also for this thread. Repeated calls have no effect.

    Raises:
        InvalidInput: There is no session.
        Unavailable: The session is stopped.
    """
    require_session(spark)
    with explained():
        spark.dataSource.register(GravelerDataSource)
        # Classic Spark looks for formats in the thread's active session; a new thread has none until this is called.
        spark.createDataFrame([], "n INT")
