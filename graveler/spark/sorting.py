"""Functions that Spark workers run in a sort on the cluster: read the rows of an item, then process a sorted partition.

Between the two, Spark brings the rows of each partition to one task, in key order. If graveler raises an error while
rows are read, the error is sent as a row to the task of the first partition, and becomes its outcome.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from graveler.spark.connection import opened
from graveler.spark.worker import Failed, outcome_of, outcome_row, unpacked
from graveler_core.blobs.port import LISTED
from graveler_core.errors import GravelerError
from graveler_core.segments.sorted_keys import KEY, upper_bound

if TYPE_CHECKING:
    from graveler_core.stores import Stores

_TIME: Final = "mtime"
_ERROR: Final = "error"
PARTITION: Final = "partition_number"
"""Name of the column that tells to which partition a row belongs."""
ROWS_SQL: Final = f"{PARTITION} int, key binary, size bigint, etag string, {_TIME} bigint, {_ERROR} binary"
"""Columns of a listing in transit. Times are in microseconds, so that they do not depend on a session's time zone."""
_ROWS: Final = pa.schema(
    [
        (PARTITION, pa.int32()),
        *(pa.field(field.name, pa.int64() if field.name == _TIME else field.type) for field in LISTED),
        (_ERROR, pa.binary()),
    ]
)


def in_partitions(
    read: Callable[[Stores, Any], Iterator[pa.Table]], split_points: Sequence[bytes], stores: Stores, item: Any
) -> Iterator[pa.Table]:
    """Yield the rows of an item, each with the number of its partition."""
    for table in read(stores, item):
        found = table.sort_by(KEY)
        keys = found.column(KEY).combine_chunks()
        edges = [0, *(upper_bound(keys, point) for point in split_points), len(keys)]
        numbers = np.repeat(np.arange(len(edges) - 1, dtype=np.int32), np.diff(edges))
        times = found.column(_TIME).cast(pa.int64())
        columns = [pa.array(numbers), *(times if name == _TIME else found.column(name) for name in LISTED.names)]
        yield pa.Table.from_arrays([*columns, pa.nulls(len(keys), pa.binary())], schema=_ROWS)


def rows(packed_call: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert batches of items to the rows that they describe. Called in a worker, by `mapInArrow`."""
    for batch in batches:
        for item in batch.column("item"):
            try:
                work, connection = unpacked(packed_call)
                for table in work(opened(connection), pickle.loads(item.as_buffer())):  # noqa: S301 (the driver's own)
                    yield from table.to_batches()
            except GravelerError as error:
                failed = pickle.dumps(Failed(error, traceback.format_exc()))
                yield pa.record_batch([[0], [b""], [0], [None], [None], [failed]], schema=_ROWS)


def outcomes(packed_call: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert the rows of one partition, in key order, to its outcome. Called in a worker, by `mapInArrow`."""
    task = TaskContext.get()
    assert task is not None  # noqa: S101 - Spark calls this
    number = task.partitionId()
    yield outcome_row(number, outcome_of(packed_call, partial(_worked, number, batches)))


def _worked(number: int, batches: Iterator[pa.RecordBatch], work: Callable[..., Any], stores: Stores) -> Any:
    return work(stores, number, (_listed(number, batch) for batch in batches))


def _listed(number: int, batch: pa.RecordBatch) -> pa.Table:
    errors = batch.column(_ERROR)
    if errors.null_count < len(errors):
        failed: Failed = pickle.loads(errors.drop_null()[0].as_buffer())  # noqa: S301 (our own workers')
        failed.error.add_note(failed.trace)
        raise failed.error
    if pc.any(pc.not_equal(batch.column(PARTITION), number)).as_py():
        raise AssertionError(f"Spark returned rows of another partition in partition {number}")
    return pa.Table.from_batches([batch]).select(LISTED.names).cast(LISTED)
