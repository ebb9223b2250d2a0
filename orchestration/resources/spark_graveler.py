"""`SparkGravelerResource`: a connection whose large commits, merges, diffs and compactions are done by Spark."""

from typing import TYPE_CHECKING

import dagster as dg
from dagster_pyspark import LazyPySparkResource
from pydantic import Field

from jobs.sizes import ROWS_PER_PIECE, THRESHOLD
from orchestration.resources.graveler import GravelerResource
from orchestration.resources.spark import session

if TYPE_CHECKING:
    from graveler_core.stores import Cluster


class SparkGravelerResource(GravelerResource):
    """Where graveler keeps what changes, and the Spark session for work that outgrows one process.

    The session is started by the first work that is large enough, and not before.
    """

    pyspark: dg.ResourceDependency[LazyPySparkResource]
    threshold: int = Field(default=THRESHOLD, ge=0, description="Rows from which on work is given to Spark.")
    rows_per_piece: int = Field(default=ROWS_PER_PIECE, ge=1, description="About how many rows make a task.")

    def _cluster(self) -> "Cluster":
        from jobs.cluster import SparkCluster
        from jobs.connection import Connection

        connection = Connection(self.url, self.storage_options)
        return SparkCluster(
            lambda: session(self.pyspark), connection, self.rows_per_piece, self.threshold, self._report
        )
