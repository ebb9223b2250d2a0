"""A task's rows as Parquet files in the storage namespace. Nothing names them until the driver commits their entries.

Each attempt at a task writes under a prefix of its own, so attempts that run twice, or one after the death of another,
do not meet; only the files that the attempt hands back count. What a dead attempt leaves is named by nothing.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from graveler_core.blobs.port import Blobs
from graveler_core.engine.pinned import still
from graveler_core.errors import GravelerError
from graveler_core.model.entry import AddressType, Entry
from jobs.connection import opened
from jobs.source.target import Target
from jobs.tables import PARQUET

_GROUP_BYTES = 64 << 20
"""Of a row group, before it is compressed."""
_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class File:
    """A file that was stored."""

    name: str
    """In the directory that is written."""
    address: str
    size: int
    checksum: str
    mtime: datetime

    def entry(self) -> Entry:
        """What the directory will hold."""
        return Entry(
            address=self.address,
            address_type=AddressType.RELATIVE,
            size=self.size,
            checksum=self.checksum,
            mtime=self.mtime,
            content_type=PARQUET,
        )


@dataclass(frozen=True)
class Uploaded(WriterCommitMessage):
    """What a task tells the driver."""

    files: tuple[File, ...]
    query: str = ""
    """The id of the streaming query, which stays the same when it is started again."""


def upload(target: Target, batches: Iterable[pa.RecordBatch]) -> Uploaded:
    """Store the rows of a task, in files of about `target.file_bytes`. No file for no rows. Called in a worker.

    Raises:
        InvalidInput: the worker does not see the local directories of the driver.
    """
    for sight in target.sights:
        sight.check()
    task = TaskContext.get()
    number = 0 if task is None else task.partitionId()
    query = (None if task is None else task.getLocalProperty(_QUERY)) or ""
    return Uploaded(_stored(target, number, _encoded(batches, target.file_bytes)), query)


def upload_columns(target: Target) -> Uploaded:
    """Store a file without rows, so that an empty table has columns."""
    sink = pa.BufferOutputStream()
    pq.write_table(target.schema.empty_table(), sink)
    return Uploaded(_stored(target, 0, [sink.getvalue()]))


def discard(target: Target, uploaded: Iterable[Uploaded]) -> None:
    """Delete files that nothing will name, as far as that works."""
    with suppress(GravelerError):
        blobs = _blobs(target)
        _discard(blobs, [file for each in uploaded for file in each.files])


def _stored(target: Target, number: int, contents: Iterable[pa.Buffer]) -> tuple[File, ...]:
    stores, blobs = opened(target.connection), _blobs(target)
    attempt = uuid.uuid4().hex
    made: list[File] = []
    try:
        for n, content in enumerate(contents):
            data = memoryview(content).cast("B")
            name = f"part-{number:05}-{attempt}-{n:03}.parquet"
            checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
            file = File(name, f"data/{attempt}/{n:03}.parquet", data.nbytes, checksum, stores.clock.now())
            blobs.create(file.address, data)
            made.append(file)
    except BaseException:
        _discard(blobs, made)
        raise
    return tuple(made)


def _encoded(batches: Iterable[pa.RecordBatch], file_bytes: int) -> Iterator[pa.Buffer]:
    sink, writer = pa.BufferOutputStream(), None
    for group in _groups(batches):
        writer = writer or pq.ParquetWriter(sink, group.schema, compression="zstd")
        writer.write_table(group)
        if sink.tell() >= file_bytes:
            writer.close()
            yield sink.getvalue()
            sink, writer = pa.BufferOutputStream(), None
    if writer is not None:
        writer.close()
        yield sink.getvalue()


def _groups(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.Table]:
    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= _GROUP_BYTES:
            yield pa.Table.from_batches(held)
            held, size = [], 0
    if held:
        yield pa.Table.from_batches(held)


def _blobs(target: Target) -> Blobs:
    stores = opened(target.connection)
    return stores.blobs.at(still(stores, target.repository, target.uid).storage_namespace)


def _discard(blobs: Blobs, files: Iterable[File]) -> None:
    for file in files:
        with suppress(GravelerError):
            blobs.delete(file.address)
