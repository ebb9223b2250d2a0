"""`SparkGravelerResource`: a connection that runs large commits, merges, diffs and compactions on Spark."""

from typing import TYPE_CHECKING

import dagster as dg
from pydantic import Field

from dagster_graveler.resources.graveler import GravelerResource
from dagster_graveler.resources.spark import session
from graveler.spark.sizes import ROWS_PER_TASK, THRESHOLD
from graveler_core.extras import requires

with requires("dagster-spark"):
    from dagster_pyspark import LazyPySparkResource

if TYPE_CHECKING:
    from graveler_core.stores import Cluster


class SparkGravelerResource(GravelerResource):
    """Connection to the stores, and a Spark session for work that outgrows one process.

    The session starts with the first work that is large enough.
    """

    pyspark: dg.ResourceDependency[LazyPySparkResource]
    threshold: int = Field(default=THRESHOLD, ge=0, description="Number of rows from which on work runs on Spark.")
    rows_per_task: int = Field(default=ROWS_PER_TASK, ge=1, description="Approximate number of rows per task.")

    def _cluster(self) -> "Cluster":
        from graveler.spark.cluster import SparkCluster
        from graveler.spark.connection import Connection

        connection = Connection(self.url, self.storage_options, self.cache_dir, self.cache_bytes)
        return SparkCluster(lambda: session(self.pyspark), connection, self.rows_per_task, self.threshold, self._report)
