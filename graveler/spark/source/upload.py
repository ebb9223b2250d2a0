"""Store a task's rows as Parquet files in the storage namespace. Nothing refers to them until the driver commits their
entries.

Each attempt of a task writes under its own prefix. So attempts that run twice, or after the death of another, do not
collide; only the files that an attempt returns count. Each attempt is an upload that is recorded before its first
file (`graveler_core.objects.uploads`). So a sweep finds the files that a dead attempt or a dead driver leaves
unreferenced.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from operator import itemgetter

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark import TaskContext
from pyspark.sql.datasource import WriterCommitMessage

from graveler.spark.connection import opened
from graveler.spark.source.target import Target
from graveler.spark.tables import PARQUET
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.model.entry import AddressType, Entry
from graveler_core.objects.uploads import Uploads, prefix
from graveler_core.wiring import opening

_GROUP_BYTES = 64 << 20
"""Uncompressed size of a row group, in bytes."""
_QUERY = "sql.streaming.queryId"


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """Stored file."""

    name: str
    """Name relative to the written directory; in a partitioned directory, it begins with the directory of a
    partition.
    """
    address: str
    size: int
    checksum: str
    mtime: datetime

    def entry(self) -> Entry:
        """Return the entry of the file."""
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
    """Message of a task to the driver."""

    files: tuple[UploadedFile, ...]
    id: str = ""
    """Id of the upload; empty without files."""
    query: str = ""
    """Id of the streaming query, which stays the same after a restart."""


def upload(target: Target, batches: Iterable[pa.RecordBatch]) -> Uploaded:
    """Store the rows of a task in files of about `target.file_bytes`. Called in a worker.

    If there are no rows, no file is stored.

    Raises:
        InvalidInput: The worker does not see the local directories of the driver, or a row belongs to no partition.
    """
    for sight in target.sights:
        sight.check()
    task = TaskContext.get()
    number = 0 if task is None else task.partitionId()
    query = (None if task is None else task.getLocalProperty(_QUERY)) or ""
    return _stored(target, number, _contents(target, batches), query)


def upload_columns(target: Target) -> Uploaded:
    """Store a file without rows, so that an empty table has columns."""
    sink = pa.BufferOutputStream()
    pq.write_table(target.schema.empty_table(), sink)
    return _stored(target, 0, [("", sink.getvalue())])


def discard(target: Target, uploaded: Iterable[Uploaded]) -> None:
    """Delete the files of uploads, except those to which a commit may refer. Errors are ignored, because a sweep
    deletes the rest.
    """
    with suppress(GravelerError):
        uploads_of(target).give_up(ids_of(uploaded))


def ids_of(uploaded: Iterable[Uploaded]) -> list[str]:
    """Return the ids of the uploads that hold the tasks' files."""
    return [each.id for each in uploaded if each.id]


def uploads_of(target: Target) -> Uploads:
    """Return the uploads of the target repository. Raise `NotFound` if it was deleted."""
    return opening.uploads_of(opened(target.connection), target.repository, target.uid)


def _stored(target: Target, number: int, contents: Iterable[tuple[str, pa.Buffer]], query: str = "") -> Uploaded:
    """Store the contents of files, each with its directory."""
    uploads, id = uploads_of(target), ""
    made: list[UploadedFile] = []
    try:
        for n, (folder, content) in enumerate(contents):
            id = id or uploads.begin()
            data = memoryview(content).cast("B")
            name = f"{folder}part-{number:05}-{id}-{n:03}.parquet"
            checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
            file = UploadedFile(name, f"{prefix(id)}{n:03}.parquet", data.nbytes, checksum, uploads.clock.now())
            uploads.blobs.create(file.address, data)
            made.append(file)
    except BaseException:
        with suppress(GravelerError):
            uploads.give_up([id] if id else [])
        raise
    return Uploaded(tuple(made), id, query)


def _contents(target: Target, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.Buffer]]:
    """Yield files one after the other, a new one for each run of rows of a partition, so that only one is in memory."""
    if not target.partition_column:
        yield from (("", content) for content in _encoded(batches, target.file_bytes))
        return
    for key, run in groupby(_runs(target.partition_column, batches), itemgetter(0)):
        if key not in target.folders:
            raise InvalidInput(
                f"path {target.path!r}: a row belongs to the partition {key!r}, but must belong to one of "
                f"{list(target.folders)}",
                path=target.path,
            )
        for content in _encoded((rows for _, rows in run), target.file_bytes):
            yield target.folders[key], content


def _runs(column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Yield runs of consecutive rows with one value in a column, without that column."""
    for batch in batches:
        runs, rows, start = pc.run_end_encode(batch.column(column)), batch.drop_columns([column]), 0
        for value, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield value, rows.slice(start, end - start)
            start = end


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
