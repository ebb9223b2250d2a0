"""`SparkCluster`: Spark as the `Cluster` of the engine. DataFrames alone, so it works on Spark Connect too.

The items travel as rows of a DataFrame, one a partition, so one a task; a function that is pickled by value, and needs
nothing but the standard library until it runs, hands each to `jobs.piecework`. The outcomes are shuffled before they
are fetched: all tasks run side by side whatever the driver does, and then it fetches a few outcomes at a time, in
the order of the items. (`toLocalIterator` on the tasks themselves would run one after the other; a range partitioning
would run them twice, the first time to sample.)

Where the cluster sorts, three such steps follow each other: items are read to rows, each with the number of its piece;
a shuffle by that number brings a piece's rows to one task, which Spark sorts, on disk where they are many; and the task
works on them. The cuts are the caller's, so nothing is read twice to find them.

A task that runs twice, by a retry or by speculation, gives two outcomes of which Spark hands over one; the contract of
`Cluster.map` makes the other one harmless. Nothing becomes visible here: the engine on the driver swaps a record, or
does not. A driver that is killed leaves blobs that nothing names.
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

from graveler_core.errors import InvalidInput
from jobs.connection import Connection, refuse_memory
from jobs.piecework import ITEMS, OUTCOMES_SQL, PACKAGE, Done, Failed, Piecework, packed
from jobs.report import Report
from jobs.sight import sights
from jobs.sizes import ROWS_PER_PIECE, THRESHOLD
from jobs.sorting import ROWS_SQL, in_pieces
from jobs.spark_errors import explained, require_session
from jobs.watching import watched

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from graveler_core.stores import Stores

T = TypeVar("T")
U = TypeVar("U")
_AT_ONCE: Final = 8
"""Results that are fetched together. Each fetch is a small job of Spark's; one may be some ranges' entries."""


@dataclass(frozen=True)
class SparkCluster:
    """Work on a Spark session, in pieces.

    Args:
        spark: The session, or a function that gives it, called when there is work for it and not before.
        connection: How workers reach the stores that the driver works on.
        rows_per_piece: About how many rows make a task.
        threshold: Work on fewer rows is not worth a session: the engine does it in the driver.
        report: Is told what is decided, and how far it is.
    """

    spark: SparkSession | Callable[[], SparkSession]
    connection: Connection
    rows_per_piece: int = ROWS_PER_PIECE
    threshold: int = THRESHOLD
    report: Report = field(default_factory=Report, compare=False)

    def __post_init__(self) -> None:
        require_session(self.spark)
        if self.rows_per_piece < 1 or self.threshold < 0:
            raise InvalidInput(
                f"rows_per_piece is {self.rows_per_piece}, threshold is {self.threshold}: "
                "the first must be at least 1, the second not negative"
            )

    def pieces(self, rows: int) -> int:
        """1 below the threshold; else two pieces or more."""
        pieces = 1 if rows < self.threshold else max(2, -(-rows // self.rows_per_piece))
        self.report.decided(rows, self.threshold, pieces)
        return pieces

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        """As `Cluster.map` says. Starts when the first result is asked for; then a few are held at a time.

        Raises:
            InvalidInput: work on a store that one process, or one machine, alone can see.
            Unavailable: Spark has no Java, no session, no workers, or its workers lack what they need.
            GravelerError: what the first of the items that failed has raised.
        """
        if not items:
            return
        piecework, rows = self._packed(work, items)
        carried = _carried("jobs.piecework", "outcomes", piecework)

        def done(spark: SparkSession) -> DataFrame:
            return _placed(spark, rows).mapInArrow(carried, OUTCOMES_SQL)

        yield from self._fetched(done, len(items), _stage(work))

    def sort(
        self,
        read: Callable[[Stores, T], Iterator[pa.Table]],
        items: Sequence[T],
        cuts: Sequence[bytes],
        work: Callable[[Stores, int, Iterator[pa.Table]], U],
    ) -> Iterator[U]:
        """As `Cluster.sort` says; lazy as `map` is, and raises as it does."""
        pieces = len(cuts) + 1
        reading, rows = self._packed(partial(in_pieces, read, tuple(cuts)), items)
        working, _ = self._packed(work, [])
        reads = _carried("jobs.sorting", "rows", reading)
        works = _carried("jobs.sorting", "outcomes", working)

        def done(spark: SparkSession) -> DataFrame:
            found = _placed(spark, rows).mapInArrow(reads, ROWS_SQL)
            return found.repartitionById(pieces, "piece").sortWithinPartitions("key").mapInArrow(works, OUTCOMES_SQL)

        yield from self._fetched(done, pieces, _stage(work))

    def _fetched(self, done: Callable[[SparkSession], DataFrame], pieces: int, stage: str) -> Iterator[Any]:
        """The results of so many pieces, in order."""
        with explained():
            spark = self.spark() if callable(self.spark) else self.spark
            require_session(spark)
            fetch = partial(_gathered(done(spark), pieces).toLocalIterator, prefetchPartitions=True)
            tell = partial(self.report.progressed, stage, total=pieces)
            for ordinal, row in enumerate(watched(spark, fetch, pieces, tell)):
                if row.ordinal != ordinal:
                    raise AssertionError(f"Spark gave outcome {row.ordinal} in place of {ordinal}")
                yield _result(pickle.loads(row.outcome))  # noqa: S301 (our own workers')

    def map_rows(self, work: Callable[[Stores, Iterator[pa.RecordBatch]], U], frame: DataFrame) -> Iterator[U]:
        """What comes of each partition of a DataFrame, in their order: `work` is called with its batches, in a worker.

        As `map`, but that the rows are where they are, and that nobody is told how far it is.
        """
        piecework = self._asked(*packed(work))
        with explained():
            made = frame.mapInArrow(_carried("jobs.piecework", "outcomes_of_rows", piecework), OUTCOMES_SQL)
            # What partitions hand back is little. In one partition it is fetched at once, when all of them are done.
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
        """What workers are told, but for the items."""
        for uri in namespaces:
            refuse_memory(uri)
        seen = sights(self.connection.url, namespaces)
        return packed(Piecework(function, self.connection, seen, version(PACKAGE)))[0]


def _placed(spark: SparkSession, rows: pa.Table) -> DataFrame:
    """Items, one a partition."""
    return spark.createDataFrame(rows).repartitionById(rows.num_rows, "ordinal")


def _gathered(done: DataFrame, outcomes: int) -> DataFrame:
    """So many outcomes: partitions in their order, each with a few of them in that order."""
    fetch = F.expr(f"cast(ordinal div {_AT_ONCE} as int)")
    return done.repartitionById(-(-outcomes // _AT_ONCE), fetch).sortWithinPartitions("ordinal")


def _carried(
    module: str, function: str, piecework: bytes
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """A function for `mapInArrow`, pickled by value: a worker without our package can still run it, to say so."""

    def run(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # Spark gives a machine a worker for each core; polars reads this when it is imported.
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
        try:
            called = getattr(import_module(module), function)
        except ModuleNotFoundError as missing:
            raise RuntimeError(f"graveler is not installed: {missing}") from None  # as jobs.spark_errors.NOT_INSTALLED
        yield from called(piecework, batches)

    return run


def _stage(work: Callable[..., Any]) -> str:
    """What people are told is being done: the function's name, in words."""
    while isinstance(work, partial):
        work = work.func
    return work.__name__.strip("_").replace("_", " ")


def _result(outcome: Done | Failed) -> Any:
    if isinstance(outcome, Failed):
        outcome.error.add_note(f"In a worker of Spark:\n{outcome.trace}")
        raise outcome.error
    return outcome.value
