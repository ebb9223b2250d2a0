"""Spark for one command of the command line: the entry point `spark` of the group `graveler.clusters`.

In a process that Dagster Pipes has started, progress and documents go to Dagster, too: lines of the log, and a custom
message.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from dagster_pipes import PipesContext, PipesEnvVarParamsLoader, open_dagster_pipes
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.environment_errors import explained
from graveler.spark.report import Report
from graveler.spark.session import pin_worker_interpreter
from graveler.spark.sizes import ROWS_PER_TASK, THRESHOLD
from graveler.spark.staging import stage_dataframe
from graveler_core.clusters import ClusterRequest, FilesOfRows, StoreAccess
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from graveler_core.facade.branch import Branch


class SparkCommand:
    """Spark for one command; see `graveler_core.clusters.ClusterCommand`.

    The Spark session is the one of the process, or a new one that is configured by `spark-submit` and the environment.

    Args:
        request: Settings of the command.
    """

    def __init__(self, request: ClusterRequest) -> None:
        self._request = request
        self._pipes = _pipes()
        self._report = Report().begin(self._say, request.verb)

    def cluster(self, access: StoreAccess) -> SparkCluster:
        """Return the cluster. Its session starts when there is work for it, or at once if the request says so."""
        connection = Connection(
            access.url, access.storage_options, access.cache_dir, access.cache_bytes, access.credentials
        )
        given = self._request.rows_per_task, self._request.threshold
        rows, threshold = (
            default if value is None else value
            for value, default in zip(given, (ROWS_PER_TASK, THRESHOLD), strict=True)
        )
        cluster = SparkCluster(_session, connection.for_workers, rows, threshold, self._report)
        if self._request.start:
            _session()
        return cluster

    def stage_files(self, branch: Branch, files: FilesOfRows) -> dict[str, Any]:
        """Stage the rows of files, and return `records`, `removals` (of them) and `files` (that were written)."""
        try:
            with explained():
                frame = _session().read.format(files.format).load(files.location)
        except PySparkException as error:
            raise InvalidInput(f"input {files.location}: {error.getMessage() or error}") from error
        return asdict(stage_dataframe(frame, branch, partitions=files.partitions))

    def facts(self) -> dict[str, str | int]:
        """Return the engine, and if work was planned: rows, threshold and tasks."""
        return self._report.facts()

    def report(self, document: Mapping[str, Any]) -> None:
        """Send a document to Dagster as a custom message, if Dagster Pipes has started this process."""
        if self._pipes is not None:
            self._pipes.report_custom_message(dict(document))

    def close(self) -> None:
        """Tell Dagster that no more messages follow. The Spark session stays."""
        if self._pipes is not None:
            self._pipes.close()

    def _say(self, said: str) -> None:
        self._request.say(said)
        if self._pipes is not None:
            self._pipes.log.info(said)


def _pipes() -> PipesContext | None:
    if not PipesEnvVarParamsLoader().is_dagster_pipes_process():  # type: ignore[no-untyped-call]
        return None
    return open_dagster_pipes()


def _session() -> SparkSession:
    pin_worker_interpreter()
    with explained():
        return SparkSession.builder.getOrCreate()
