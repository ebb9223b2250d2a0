"""Parquet files of a write, made in a local directory before any of them is uploaded.

A write that fails, for example because a row belongs to no partition of the run, has changed nothing. Only one batch of
rows, and row groups of a limited size together, are in memory.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import dagster as dg

from dagster_graveler.io_managers.splitting import Splitter
from dagster_graveler.io_managers.table_path import TablePath

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FILE_BYTES = 128 << 20
"""Approximate maximum size of a file."""
_GROUP_BYTES = 64 << 20
"""Uncompressed size of a row group."""
_HELD_BYTES = 512 << 20
"""Maximum size of the rows of all partitions that wait for their row groups. Above it, the largest group is written."""
_OPEN_FILES = 256
"""Maximum number of files that are open. Above it, the one that was not written for the longest time is ended."""


@dataclass(frozen=True)
class ParquetFile:
    """Local Parquet file of a partition."""

    local: Path
    partition: int
    """Position of the partition in the keys of the write."""
    rows: int


@dataclass
class _Writer:
    """Files of one partition, one after the other."""

    directory: Path
    partition: int
    schema: pa.Schema
    files: list[ParquetFile] = field(default_factory=list)
    _open: pq.ParquetWriter | None = None
    _held: list[pa.RecordBatch] = field(default_factory=list)
    held_bytes: int = 0
    _rows: int = 0

    def hold(self, batch: pa.RecordBatch) -> None:
        """Keep rows in memory for the next row group."""
        self._held.append(batch)
        self.held_bytes += batch.nbytes

    @property
    def is_open(self) -> bool:
        """True between the first row group of a file and its end."""
        return self._open is not None

    def finish(self) -> list[ParquetFile]:
        """Return the files. Without rows, there is one empty file, which keeps the columns."""
        if self._held or not (self.is_open or self.files):
            self.flush()
        self.close()
        return self.files

    @property
    def _path(self) -> Path:
        return self.directory / f"{self.partition}-{len(self.files)}.parquet"

    def flush(self) -> None:
        """Write the rows in memory as a row group. End the file if it is large enough."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._open = self._open or pq.ParquetWriter(self._path, self.schema, compression="zstd")
        held = pa.Table.from_batches(self._held, self.schema)
        self._open.write_table(held)
        self._rows += held.num_rows
        self._held, self.held_bytes = [], 0
        if self._path.stat().st_size >= FILE_BYTES:
            self.close()

    def close(self) -> None:
        """End the file, if one is open."""
        if self._open is not None:
            self._open.close()
            self.files.append(ParquetFile(self._path, self.partition, self._rows))
            self._open, self._rows = None, 0


class _Writers:
    """Files of all partitions of a write. Memory and open files are limited for all of them together."""

    def __init__(self, directory: Path, partitions: int, schema: pa.Schema) -> None:
        self._writers = [_Writer(directory, partition, schema) for partition in range(partitions)]
        self._open: dict[int, _Writer] = {}
        """Writers with an open file by partition, the one that was not written for the longest time first."""
        self.held_bytes = 0

    def write(self, partition: int, batch: pa.RecordBatch) -> None:
        """Write rows of a partition, at once or later."""
        writer = self._writers[partition]
        writer.hold(batch)
        self.held_bytes += batch.nbytes
        if writer.held_bytes >= _GROUP_BYTES:
            self._flush(writer)
        while self.held_bytes > _HELD_BYTES:
            self._flush(max(self._writers, key=lambda each: each.held_bytes))

    def finish(self) -> list[ParquetFile]:
        """Return the files in the order of the partitions."""
        return [file for writer in self._writers for file in writer.finish()]

    def _flush(self, writer: _Writer) -> None:
        self._open.pop(writer.partition, None)
        if not writer.is_open and len(self._open) >= _OPEN_FILES:
            self._open.pop(next(iter(self._open))).close()
        self.held_bytes -= writer.held_bytes
        writer.flush()
        if writer.is_open:
            self._open[writer.partition] = writer


def write_files(table: TablePath, reader: pa.RecordBatchReader, directory: Path) -> list[ParquetFile]:
    """Write rows to local files, divided among the partitions of a write.

    Args:
        table: The table or its partitions.
        reader: The rows.
        directory: Empty directory for the files.

    Returns:
        The files, at least one for each partition, in the order of the keys.

    Raises:
        DagsterInvariantViolationError: A row belongs to no partition of the run.
        DagsterInvalidDefinitionError: A partition column is missing, or the names of columns are not unique.
    """
    schema = stored_schema(table, reader.schema)
    splitter = Splitter(table, schema) if table.keys else None
    writers = _Writers(directory, len(table.keys) or 1, schema)
    for stored in chain.from_iterable(_slices(batch.cast(schema)) for batch in reader):
        if splitter is None:
            writers.write(0, stored)
        else:
            _divide(stored, splitter, writers)
    return writers.finish()


def _slices(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch in batches of about a row group at most. A whole table may be one batch."""
    rows = max(1, -(-batch.num_rows * _GROUP_BYTES // max(1, batch.nbytes)))
    for start in range(0, batch.num_rows, rows):
        yield batch.slice(start, rows)


def stored_schema(table: TablePath, schema: pa.Schema) -> pa.Schema:
    """Return a schema with the types that all readers of Parquet know: views of text and bytes become text and bytes.

    Raises:
        DagsterInvalidDefinitionError: There is no column, or two columns have one name.
    """
    import pyarrow as pa

    names = schema.names
    if not names:
        raise dg.DagsterInvalidDefinitionError(f"asset {table.asset}: a table must have at least one column")
    for name in names:
        if names.count(name) > 1:
            raise dg.DagsterInvalidDefinitionError(
                f"asset {table.asset}: {names.count(name)} columns are named {name!r}"
            )
    plain: dict[Any, Any] = {pa.string_view(): pa.large_string(), pa.binary_view(): pa.large_binary()}
    return pa.schema([field.with_type(plain.get(field.type, field.type)) for field in schema], schema.metadata)


def _divide(batch: pa.RecordBatch, splitter: Splitter, writers: _Writers) -> None:
    import numpy as np
    import pyarrow as pa

    positions = splitter.positions(batch)
    for position in np.unique(positions):
        rows = np.flatnonzero(positions == position)
        part = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
        writers.write(int(position), part)
