"""`SparkCluster`: Spark as the `Cluster` of the engine. It uses only DataFrames, so it also works on Spark Connect.

The items are sent as rows of a DataFrame, one per partition, and thus one per task. A function that is pickled by
value, and needs only the standard library until it runs, passes each item to `graveler.spark.worker`. The outcomes
are shuffled before they are fetched. So all tasks run concurrently, independently of the driver, which then fetches
a few outcomes at a time, in the order of the items. (`toLocalIterator` on the tasks themselves would run them one
after the other. A range partitioning would run them twice, the first time to sample.)

A sort on the cluster has three steps. Tasks read the items to rows, each with the number of its partition. A shuffle
by that number brings the rows of a partition to one task, where Spark sorts them, on disk if there are many. The
task then processes them. The caller provides the split points, so nothing is read twice to find them.

A task that runs twice, after a retry or by speculation, has two outcomes, of which Spark returns one. The contract
of `Cluster.map` makes the other one harmless. Tasks make nothing visible to readers: only the engine on the driver
swaps a record. If the driver is killed, only unreferenced blobs remain.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql import functions as F

from graveler.spark.connection import Connection, refuse_memory
from graveler.spark.environment_errors import explained, require_session
from graveler.spark.filesystem_check import sights
from graveler.spark.progress import watched
from graveler.spark.report import Report
from graveler.spark.sizes import ROWS_PER_TASK, THRESHOLD
from graveler.spark.sorting import PARTITION, ROWS_SQL, in_partitions
from graveler.spark.worker import ITEMS, OUTCOMES_SQL, PACKAGE, Done, Failed, WorkerCall, packed
from graveler_core.errors import InvalidInput

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from graveler_core.stores import Stores

T = TypeVar("T")
U = TypeVar("U")
_AT_ONCE: Final = 8
"""Number of results fetched together. Each fetch is a small Spark job; one result may hold the entries of a few
ranges.
"""


@dataclass(frozen=True)
class SparkCluster:
    """Cluster that runs tasks on a Spark session.

    Args:
        spark: The session, or a function that returns it, called when there is work for it.
        connection: Connection of the workers to the driver's stores.
        rows_per_task: Approximate number of rows per task.
        threshold: Minimum number of rows for which Spark is used. The engine processes fewer rows in the driver.
        report: Receives decisions and progress.
    """

    spark: SparkSession | Callable[[], SparkSession]
    connection: Connection
    rows_per_task: int = ROWS_PER_TASK
    threshold: int = THRESHOLD
    report: Report = field(default_factory=Report, compare=False)

    def __post_init__(self) -> None:
        require_session(self.spark)
        if self.rows_per_task < 1 or self.threshold < 0:
            raise InvalidInput(
                f"rows_per_task must be at least 1 and threshold must not be negative, but they are "
                f"{self.rows_per_task} and {self.threshold}"
            )

    def tasks(self, rows: int) -> int:
        """Return the number of tasks: 1 below the threshold, otherwise two or more.

        Args:
            rows: Approximate number of rows to process.

        Returns:
            The number of tasks, each of about `rows_per_task` rows.
        """
        tasks = 1 if rows < self.threshold else max(2, -(-rows // self.rows_per_task))
        self.report.decided(rows, self.threshold, tasks)
        return tasks

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        """Run `work` on each item as `Cluster.map` says. The work starts when the first result is requested; then a few
        results are held at a time.

        Args:
            work: A picklable function of the worker's stores and one item.
            items: Picklable frozen values.

        Yields:
            One result for each item, in order.

        Raises:
            InvalidInput: A store is visible to one process or one machine only.
            Unavailable: Spark has no Java, no session or no workers, or its workers lack a requirement.
            GravelerError: The error of the first failed item.
        """
        if not items:
            return
        packed_call, rows = self._packed(work, items)
        carried = _carried("graveler.spark.worker", "outcomes", packed_call)

        def done(spark: SparkSession) -> DataFrame:
            return _placed(spark, rows).mapInArrow(carried, OUTCOMES_SQL)

        yield from self._fetched(done, len(items), _stage(work))

    def sort(
        self,
        read: Callable[[Stores, T], Iterator[pa.Table]],
        items: Sequence[T],
        split_points: Sequence[bytes],
        work: Callable[[Stores, int, Iterator[pa.Table]], U],
    ) -> Iterator[U]:
        """Sort rows and process them as `Cluster.sort` says. Lazy as `map` is, with the same errors.

        Args:
            read: A picklable function of the worker's stores and one item, which yields tables with the column `key`.
            items: Picklable frozen values.
            split_points: Ascending keys that separate the partitions. There is one partition more than split points.
            work: A picklable function of the worker's stores, the number of a partition, and its rows in order of keys.

        Yields:
            One result for each partition, in order.
        """
        partitions = len(split_points) + 1
        reading, rows = self._packed(partial(in_partitions, read, tuple(split_points)), items)
        working, _ = self._packed(work, [])
        reads = _carried("graveler.spark.sorting", "rows", reading)
        works = _carried("graveler.spark.sorting", "outcomes", working)

        def done(spark: SparkSession) -> DataFrame:
            read_rows = _placed(spark, rows).mapInArrow(reads, ROWS_SQL)
            together = read_rows.repartitionById(partitions, PARTITION)
            return together.sortWithinPartitions("key").mapInArrow(works, OUTCOMES_SQL)

        yield from self._fetched(done, partitions, _stage(work))

    def _fetched(self, done: Callable[[SparkSession], DataFrame], tasks: int, stage: str) -> Iterator[Any]:
        """Yield the results of all tasks, in order."""
        with explained():
            spark = self.spark() if callable(self.spark) else self.spark
            require_session(spark)
            fetch = partial(_gathered(done(spark), tasks).toLocalIterator, prefetchPartitions=True)
            tell = partial(self.report.progressed, stage, total=tasks)
            for ordinal, row in enumerate(watched(spark, fetch, tasks, tell)):
                if row.ordinal != ordinal:
                    raise AssertionError(f"Spark returned outcome {row.ordinal} instead of {ordinal}")
                yield _result(pickle.loads(row.outcome))  # noqa: S301 (our own workers')

    def map_rows(self, work: Callable[[Stores, Iterator[pa.RecordBatch]], U], frame: DataFrame) -> Iterator[U]:
        """Call `work` in a worker with the batches of each partition of a DataFrame, and yield the results in order.

        Like `map`, but the rows are already on the workers, and no progress is reported.

        Args:
            work: A picklable function of the worker's stores and the batches of one partition.
            frame: The rows.

        Yields:
            One result for each partition, in order.
        """
        packed_call = self._asked(*packed(work))
        with explained():
            made = frame.mapInArrow(_carried("graveler.spark.worker", "outcomes_of_rows", packed_call), OUTCOMES_SQL)
            # The results of partitions are small. A single partition is fetched at once, when all of them are done.
            fetch = made.repartition(1).sortWithinPartitions("ordinal").toLocalIterator
            self.report.placed()
            for row in watched(frame.sparkSession, fetch, 0, lambda done: None):
                yield _result(pickle.loads(row.outcome))  # noqa: S301 (our own workers')

    def _packed(self, work: Callable[..., Any], items: Sequence[Any]) -> tuple[bytes, pa.Table]:
        function, namespaces = packed(work)
        batches = []
        for ordinal, item in enumerate(items):
            data, named = packed(item)
            namespaces |= named
            batches.append(pa.record_batch([[ordinal], [data]], schema=ITEMS))
        return self._asked(function, namespaces), pa.Table.from_batches(batches, ITEMS)

    def _asked(self, function: bytes, namespaces: set[str]) -> bytes:
        """Return the pickled call for the workers, without the items."""
        for uri in namespaces:
            refuse_memory(uri)
        seen = sights(self.connection.url, namespaces)
        return packed(WorkerCall(function, self.connection, seen, version(PACKAGE)))[0]


def _placed(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Return a DataFrame of the items, one per partition."""
    return spark.createDataFrame(rows).repartitionById(rows.num_rows, "ordinal")


def _gathered(done: DataFrame, outcomes: int) -> DataFrame:
    """Return the outcomes in order, with a few of them in each partition."""
    fetch = F.expr(f"cast(ordinal div {_AT_ONCE} as int)")
    return done.repartitionById(-(-outcomes // _AT_ONCE), fetch).sortWithinPartitions("ordinal")


def _carried(
    module: str, function: str, packed_call: bytes
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return a function for `mapInArrow` that is pickled by value, so that a worker without this package can run it and
    report that.
    """

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark runs one worker per core of a machine. polars reads this variable when it is imported.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        try:
            called = getattr(import_module(module), function)
        except ModuleNotFoundError as missing:
            raise RuntimeError(f"graveler is not installed: {missing}") from None  # NOT_INSTALLED
        yield from called(packed_call, batches)

    return run


def _stage(work: Callable[..., Any]) -> str:
    """Return the name of the stage for people: the function's name, in words."""
    while isinstance(work, partial):
        work = work.func
    return work.__name__.strip("_").replace("_", " ")


def _result(outcome: Done | Failed) -> Any:
    if isinstance(outcome, Failed):
        outcome.error.add_note(f"In a worker of Spark:\n{outcome.trace}")
        raise outcome.error
    return outcome.value
