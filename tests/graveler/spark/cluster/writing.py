"""A driver that writes a DataFrame: `python -m tests.graveler.spark.cluster.writing ORDERS`.

Rows are held up as tasks are.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from graveler.spark.source import graveler_read, register
from tests.graveler.spark.cluster.driver import BRANCH, REPOSITORY, Orders, session
from tests.graveler.spark.cluster.marks import Marks

ROWS, TASKS = 4_000, 8
PATH = "numbers"


def passed(marks: Marks, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a worker: the rows of a task, its attempt marked and held up before it hands over the last of them."""
    from pyspark import TaskContext

    task = TaskContext.get()
    assert task is not None
    mark = marks.begin("rows", task.partitionId())
    yield from batches
    marks.end(mark)
    marks.wait("after", "rows", task.partitionId())


def run(orders: Orders) -> dict[str, object]:
    """Write, and say what is there."""
    spark = session(orders)
    register(spark)
    held: Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]] = partial(passed, Marks(Path(orders.marks)))
    rows = spark.range(0, ROWS, 1, TASKS).mapInArrow(held, "id long")
    target = {"store": orders.store, "repository": REPOSITORY}
    options = {**target, "branch": BRANCH, "path": PATH, "idempotency_key": orders.key, "message": "The one"}
    rows.write.format("graveler").mode("append").options(**options).save()
    written = graveler_read(spark, target, BRANCH, PATH)
    numbers = sorted(row.id for row in written.collect())
    return {"numbers": len(numbers), "right": numbers == list(range(ROWS))}


if __name__ == "__main__":
    print(json.dumps(run(Orders(**json.loads(sys.argv[1])))))
