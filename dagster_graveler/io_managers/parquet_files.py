"""Parquet files of a write, made in a local directory before any of them is uploaded.

A write that fails, for example because a row belongs to no partition of the run, has changed nothing. Only one batch of
rows and the row group of each open file are in memory.
"""

from __future__ import annotations

from dataclasses import dataclass, field
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
    _held_bytes: int = 0
    _rows: int = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._held.append(batch)
        self._held_bytes += batch.nbytes
        if self._held_bytes >= _GROUP_BYTES:
            self._flush()
            if self._path.stat().st_size >= FILE_BYTES:
                self._close()

    def finish(self) -> list[ParquetFile]:
        """Return the files. Without rows, there is one empty file, which keeps the columns."""
        if self._held or self._open is not None or not self.files:
            self._flush()
            self._close()
        return self.files

    @property
    def _path(self) -> Path:
        return self.directory / f"{self.partition}-{len(self.files)}.parquet"

    def _flush(self) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._open = self._open or pq.ParquetWriter(self._path, self.schema, compression="zstd")
        held = pa.Table.from_batches(self._held, self.schema)
        self._open.write_table(held)
        self._rows += held.num_rows
        self._held, self._held_bytes = [], 0

    def _close(self) -> None:
        if self._open is not None:
            self._open.close()
        self.files.append(ParquetFile(self._path, self.partition, self._rows))
        self._open, self._rows = None, 0


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
    writers = [_Writer(directory, partition, schema) for partition in range(len(table.keys) or 1)]
    for batch in reader:
        stored = batch.cast(schema)
        if splitter is None:
            writers[0].write(stored)
        else:
            _divide(stored, splitter, writers)
    return [file for writer in writers for file in writer.finish()]


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


def _divide(batch: pa.RecordBatch, splitter: Splitter, writers: list[_Writer]) -> None:
    import numpy as np
    import pyarrow as pa

    positions = splitter.positions(batch)
    for position in np.unique(positions):
        rows = np.flatnonzero(positions == position)
        part = batch if len(rows) == batch.num_rows else batch.take(pa.array(rows))
        writers[int(position)].write(part)
