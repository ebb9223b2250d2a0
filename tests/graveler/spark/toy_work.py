"""Functions for workers to call."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyspark import TaskContext

from graveler_core.blobs.port import LISTED
from graveler_core.errors import Conflict, Kind, NotFound
from graveler_core.facade.graveler import Graveler
from graveler_core.model.entities import RepositoryRecord
from graveler_core.stores import Stores

T = TypeVar("T")
U = TypeVar("U")


def doubled(stores: Stores, item: int) -> int:
    return 2 * item


def refused(stores: Stores, item: int) -> int:
    if item >= 3:
        raise Conflict(f"item {item} is in the way", kind=Kind.MergeConflict, item=item, path=b"\x00\xff")
    return item


def broken(stores: Stores, item: int) -> int:
    raise ArithmeticError(f"item {item}")


def died_once(marks: str, stores: Stores, item: int) -> tuple[int, int]:
    """The process ends at the first attempt at item 2; gives the item and how many attempts there were."""
    attempts = Path(marks) / str(item)
    with attempts.open("a") as file:
        file.write(".")
    if item == 2 and attempts.stat().st_size == 1:
        os._exit(1)
    return item, attempts.stat().st_size


def killed_once(marks: str, work: Callable[[Stores, T], U], stores: Stores, item: tuple[int, T]) -> U:
    """The process ends when it has done an item for the first time."""
    ordinal, given = item
    done = work(stores, given)
    mark = Path(marks) / f"killed-{ordinal}"
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return done


def stumbled_once(marks: str, stores: Stores, item: int) -> int:
    """An error that is not graveler's at the first attempt at each item."""
    attempts = Path(marks) / str(item)
    with attempts.open("a") as file:
        file.write(".")
    if attempts.stat().st_size == 1:
        raise OSError("the network is down")
    return item


def waiting_for(sign: str, stores: Stores, item: int) -> int:
    """The last of four items waits for a file."""
    while item == 3 and not Path(sign).exists():
        time.sleep(0.05)
    return item


def head_of_main(stores: Stores, item: str) -> tuple[int, str]:
    """In which process, and what the store says of a repository."""
    return os.getpid(), Graveler(stores).repository(item).commit("main").id


def blob_in(repository: RepositoryRecord, stores: Stores, item: int) -> bytes:
    """Writes a blob into a repository's namespace, and reads it."""
    blobs = stores.blobs.at(repository.storage_namespace)
    blobs.create(f"data/{item}", bytes([item]))
    return blobs.read(f"data/{item}")


def slots(stores: Stores, item: int) -> str | None:
    """Threads of polars in the worker."""
    return os.environ.get("POLARS_MAX_THREADS")


def partition(stores: Stores, item: int) -> tuple[int, int]:
    """Which partition of the stage a task works on, and which attempt it is."""
    context = TaskContext.get()
    assert context is not None
    return context.partitionId(), context.attemptNumber()


def listed(numbers: list[int]) -> pa.Table:
    """A listing of objects, each named by its number."""
    columns = [
        [b"%06d" % number for number in numbers],
        numbers,
        [None if number % 2 else "e" for number in numbers],
        pa.array(numbers, pa.timestamp("us", "UTC")),
    ]
    return pa.table(columns, LISTED)


def hundred_rows(stores: Stores, item: int) -> Iterator[pa.Table]:
    """Every tenth object of a thousand, in two pages, in no order."""
    yield listed(list(range(item, 500, 10))[::-1])
    yield listed(list(range(500 + item, 1_000, 10)))


def rows_but_one(gone: int, stores: Stores, item: int) -> Iterator[pa.Table]:
    """As `hundred_rows`; one of the items ends with an error half way."""
    yield from islice(hundred_rows(stores, item), 1)
    if item == gone:
        raise NotFound(f"item {item} is gone")


def keys_of_partition(stores: Stores, number: int, pages: Iterator[pa.Table]) -> tuple[int, list[bytes]]:
    """A partition's number and its keys."""
    return number, [key for page in pages for key in page.column("key").to_pylist()]


def killed_after_rows(
    marks: str, work: Callable[[Stores, Iterator[pa.RecordBatch]], U], stores: Stores, rows: Iterator[pa.RecordBatch]
) -> U:
    """The process ends when it has done a partition for the first time."""
    done = work(stores, rows)
    context = TaskContext.get()
    assert context is not None
    mark = Path(marks) / f"killed-{context.partitionId()}"
    if not mark.exists():
        mark.touch()
        os._exit(1)
    return done
