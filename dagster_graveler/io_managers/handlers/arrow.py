"""Values of Arrow: tables, readers of record batches and datasets. Handlers of other libraries build on them."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from tempfile import TemporaryDirectory

import dagster as dg
import pyarrow as pa
import pyarrow.dataset as ds

from dagster_graveler.io_managers.datasets import open_dataset
from dagster_graveler.io_managers.handlers.port import Handler, Read, StoredValue, T, Write
from dagster_graveler.io_managers.parquet_files import ParquetFile, write_files
from dagster_graveler.io_managers.storage import own_files, replace_files, require_layout


class ArrowHandler(Handler[T]):
    """Handler of values that can be read as record batches, and made from a dataset."""

    @abstractmethod
    def reader(self, value: T, scratch: Path) -> pa.RecordBatchReader:
        """Return the rows of a value.

        Args:
            value: The value.
            scratch: Empty directory, deleted after the write.
        """

    @abstractmethod
    def value(self, dataset: ds.Dataset) -> T:
        """Return the rows of a dataset as a value."""

    def write(self, value: T, write: Write) -> StoredValue:
        """Stage the rows of a value as Parquet files."""
        with TemporaryDirectory(prefix="graveler-") as directory:
            scratch, target = Path(directory, "scratch"), Path(directory, "files")
            scratch.mkdir()
            target.mkdir()
            with self.reader(value, scratch) as reader:
                schema = _table_schema(reader.schema)
                files = write_files(write.table, reader, target)
            paths = _stage(write, files)
            size = sum(file.local.stat().st_size for file in files)
        return StoredValue(paths, size, sum(file.rows for file in files), schema)

    def read(self, read: Read) -> T:
        """Return the rows of the files."""
        return self.value(open_dataset(read.at, read.files, read.columns, read.table.asset))


class TableHandler(ArrowHandler[pa.Table]):
    """`pyarrow.Table`."""

    def reader(self, value: pa.Table, scratch: Path) -> pa.RecordBatchReader:
        """Return the rows of a table."""
        return value.to_reader()

    def value(self, dataset: ds.Dataset) -> pa.Table:
        """Return all rows as a table."""
        return dataset.to_table()


class ReaderHandler(ArrowHandler[pa.RecordBatchReader]):
    """`pyarrow.RecordBatchReader`."""

    def reader(self, value: pa.RecordBatchReader, scratch: Path) -> pa.RecordBatchReader:
        """Return the reader itself, which is consumed."""
        return value

    def value(self, dataset: ds.Dataset) -> pa.RecordBatchReader:
        """Return a reader of all rows."""
        return dataset.scanner().to_reader()


class DatasetHandler(ArrowHandler[ds.Dataset]):
    """`pyarrow.dataset.Dataset`."""

    def reader(self, value: ds.Dataset, scratch: Path) -> pa.RecordBatchReader:
        """Return the rows of a dataset."""
        return value.scanner().to_reader()

    def value(self, dataset: ds.Dataset) -> ds.Dataset:
        """Return the dataset, which reads files when they are needed."""
        return dataset


def _stage(write: Write, files: list[ParquetFile]) -> list[str]:
    """Stage files, and return their paths."""
    require_layout(write.branch, write.table)
    numbers = dict.fromkeys((file.partition for file in files), 0)
    new: dict[str, Path] = {}
    for file in files:
        directory = write.table.directories[file.partition]
        new[f"{directory}{write.append}part-{numbers[file.partition]:05}.parquet"] = file.local
        numbers[file.partition] += 1
    prefixes = [f"{directory}{write.append}" for directory in write.table.directories]
    former = [path for prefix in prefixes for path in own_files(write.at, write.table, prefix)]
    replace_files(write.branch, new, former)
    return list(new)


def _table_schema(schema: pa.Schema) -> dg.TableSchema:
    """Return names, types and nullability of columns."""
    return dg.TableSchema(
        columns=[
            dg.TableColumn(field.name, str(field.type), constraints=dg.TableColumnConstraints(nullable=field.nullable))
            for field in schema
        ]
    )
