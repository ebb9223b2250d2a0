"""Code that runs in a Spark worker: open the stores, call the function on its item, and encode the outcome as bytes.

Errors of graveler are returned as outcomes, because they describe a problem of the data or the call, which a retry
would meet again. Every other error fails the task, and Spark retries it elsewhere.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.metadata import version
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark import TaskContext

from graveler.spark.connection import Connection, opened
from graveler.spark.filesystem_check import Sight
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.model.entities import RepositoryRecord

if TYPE_CHECKING:
    from graveler_core.stores import Stores

ITEMS: Final = pa.schema([("ordinal", pa.int32()), ("item", pa.binary())])
OUTCOMES: Final = pa.schema([("ordinal", pa.int32()), ("outcome", pa.binary())])
OUTCOMES_SQL: Final = "ordinal int, outcome binary"
PACKAGE: Final = "graveler"


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """One call of `SparkCluster.map` without its items, or one call of `map_rows`."""

    work: bytes
    """Pickled function. It is unpickled after the version is checked."""
    connection: Connection
    sights: tuple[Sight, ...]
    version: str
    """Version of the driver's package. Another version might split or hash differently."""


@dataclass(frozen=True, slots=True)
class Done:
    """Result of the function."""

    value: Any


@dataclass(frozen=True, slots=True)
class Failed:
    """Error of graveler that the function raised, and its traceback as text."""

    error: GravelerError
    trace: str


def packed(value: object) -> tuple[bytes, set[str]]:
    """Pickle a value. Return the bytes, and the storage namespaces of all repositories inside the value."""
    buffer = BytesIO()
    packer = _Packer(buffer)
    packer.dump(value)
    return buffer.getvalue(), packer.namespaces


def outcomes(packed_call: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert batches of `ITEMS` to batches of `OUTCOMES`, one row each. Called in a worker, by `mapInArrow`."""
    for batch in batches:
        for ordinal, item in zip(*batch.select(ITEMS.names).columns, strict=True):
            yield outcome_row(ordinal.as_py(), outcome_of(packed_call, partial(_worked, item.as_buffer())))


def outcomes_of_rows(packed_call: bytes, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Convert all batches of a partition to one row of `OUTCOMES` with its number. Called in a worker, by
    `mapInArrow`.
    """
    task = TaskContext.get()
    yield outcome_row(
        0 if task is None else task.partitionId(),
        outcome_of(packed_call, lambda work, stores: work(stores, batches)),
    )


def outcome_row(ordinal: int, outcome: Done | Failed) -> pa.RecordBatch:
    """Return an outcome as a batch of `OUTCOMES`."""
    return pa.record_batch([[ordinal], [pickle.dumps(outcome)]], schema=OUTCOMES)


def outcome_of(packed_call: bytes, call: Callable[[Callable[..., Any], Stores], Any]) -> Done | Failed:
    """Return the outcome of one call, which `call` executes."""
    try:
        work, connection = unpacked(packed_call)
        return Done(call(work, opened(connection)))
    except GravelerError as error:
        return Failed(error, traceback.format_exc())


def _worked(item: pa.Buffer, work: Callable[..., Any], stores: Stores) -> Any:
    return work(stores, pickle.loads(item))  # noqa: S301 (the driver's own)


@lru_cache(maxsize=2)
def unpacked(packed_call: bytes) -> tuple[Callable[..., Any], Connection]:
    """Return the function and the connection of a call, after checking that the worker can run it.

    Raises:
        InvalidInput: The worker has another version of the package, or sees other files.
    """
    asked: WorkerCall = pickle.loads(packed_call)  # noqa: S301 (the driver's own)
    if version(PACKAGE) != asked.version:
        raise InvalidInput(
            f"Spark's workers have {PACKAGE} {version(PACKAGE)}, the driver has {asked.version}: install one version"
        )
    for sight in asked.sights:
        sight.check()
    return pickle.loads(asked.work), asked.connection  # noqa: S301 (the driver's own)


class _Packer(pickle.Pickler):
    def __init__(self, buffer: BytesIO) -> None:
        super().__init__(buffer, protocol=5)
        self.namespaces: set[str] = set()

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, RepositoryRecord):
            self.namespaces.add(value.storage_namespace)
        return NotImplemented
