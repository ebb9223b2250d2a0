"""A task's rows as Parquet files in the storage namespace. Nothing names them until the driver commits their entries.

Each attempt at a task writes under a prefix of its own, so attempts that run twice, or one after the death of another,
do not meet; only the files that the attempt hands back count. Each is an upload that is written down before its first
file (`graveler_core.objects.uploads`): what a dead attempt leaves, or a dead driver, is named by nothing, and a sweep
finds it.
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

from graveler_core.engine.pinned import still
from graveler_core.errors import GravelerError, InvalidInput
from graveler_core.model.entry import AddressType, Entry
from graveler_core.objects.uploads import Uploads, prefix
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
    """In the directory that is written; where that has partitions, it begins with the directory of one."""
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
    id: str = ""
    """Of the upload; none without files."""
    query: str = ""
    """The id of the streaming query, which stays the same when it is started again."""


def upload(target: Target, batches: Iterable[pa.RecordBatch]) -> Uploaded:
    """Store the rows of a task, in files of about `target.file_bytes`. No file for no rows. Called in a worker.

    Raises:
        InvalidInput: the worker does not see the local directories of the driver, or a row is of no partition.
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
    """Delete files that nothing names nor will, as far as that works, unless somebody is about to name them."""
    with suppress(GravelerError):
        uploads_of(target).give_up(ids_of(uploaded))


def ids_of(uploaded: Iterable[Uploaded]) -> list[str]:
    """The uploads that hold what tasks stored."""
    return [each.id for each in uploaded if each.id]


def uploads_of(target: Target) -> Uploads:
    """The uploads of the repository that is written to. Raises `NotFound` if it is gone."""
    stores = opened(target.connection)
    repository = still(stores, target.repository, target.uid)
    blobs = stores.blobs.at(repository.storage_namespace)
    return Uploads(stores.kv, blobs, repository, stores.clock, stores.ids)


def _stored(target: Target, number: int, contents: Iterable[tuple[str, pa.Buffer]], query: str = "") -> Uploaded:
    """Store the contents of files, each with its directory."""
    uploads, id = uploads_of(target), ""
    made: list[File] = []
    try:
        for n, (folder, content) in enumerate(contents):
            id = id or uploads.begin()
            data = memoryview(content).cast("B")
            name = f"{folder}part-{number:05}-{id}-{n:03}.parquet"
            checksum = f"sha256:{hashlib.sha256(data).hexdigest()}"
            file = File(name, f"{prefix(id)}{n:03}.parquet", data.nbytes, checksum, uploads.clock.now())
            uploads.blobs.create(file.address, data)
            made.append(file)
    except BaseException:
        with suppress(GravelerError):
            uploads.give_up([id] if id else [])
        raise
    return Uploaded(tuple(made), id, query)


def _contents(target: Target, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.Buffer]]:
    """Files, one after the other: a new one for each run of rows of a partition, so only one is in memory."""
    if not target.partition_column:
        yield from (("", content) for content in _encoded(batches, target.file_bytes))
        return
    for key, run in groupby(_runs(target.partition_column, batches), itemgetter(0)):
        if key not in target.folders:
            raise InvalidInput(
                f"path {target.path!r}: rows lie outside the partitions {list(target.folders)}", path=target.path
            )
        for content in _encoded((rows for _, rows in run), target.file_bytes):
            yield target.folders[key], content


def _runs(column: str, batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[str, pa.RecordBatch]]:
    """Neighbouring rows of one value in a column, without that column."""
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
