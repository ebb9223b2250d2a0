"""DataFrames of Spark, classic and Connect. The workers write the files, and Spark's Parquet reader reads them."""

from __future__ import annotations

import re
from ast import literal_eval
from functools import reduce
from typing import TYPE_CHECKING

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DateType, TimestampNTZType, TimestampType

from dagster_graveler.display.schema import column_schema
from dagster_graveler.io_managers.datasets import row_count, unknown_column
from dagster_graveler.io_managers.handlers.port import Handler, Read, StoredValue, Write
from dagster_graveler.io_managers.listed_files import FileChanged
from dagster_graveler.io_managers.splitting import require_directory_names
from dagster_graveler.io_managers.storage import PARQUET, own_files, require_layout, table_files
from dagster_graveler.io_managers.table_path import Dimension, TablePath
from graveler.spark.source import graveler_read, register
from graveler.spark.tables import Split, stage_table

if TYPE_CHECKING:
    from pyspark.sql import Column

_OUTSIDE = re.compile(r"a row belongs to the partition ('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")

_NO_KEY = "\n"
"""Beginning of a text that equals no partition key, because Dagster refuses this character in keys."""


class SparkHandler(Handler[DataFrame]):
    """`pyspark.sql.DataFrame`. The partition of a row can be any SQL expression."""

    def write(self, value: DataFrame, write: Write) -> StoredValue:
        """Stage the rows of a DataFrame as Parquet files."""
        table, branch = write.table, write.branch
        require_directory_names(table, value.columns)
        require_layout(branch, table)
        register(value.sparkSession)
        former = [path for directory in table.directories for path in own_files(write.at, table, directory)]
        mode = "append" if write.append else "overwrite"
        try:
            stage_table(value, {**write.options, "path": table.path}, _split(value, table), mode=mode)
        except PySparkException as e:
            if outside := _OUTSIDE.search(str(e)):
                shown = repr(str(literal_eval(outside[1])).replace(_NO_KEY, ""))
                raise dg.DagsterInvariantViolationError(
                    f"asset {table.asset}: a row belongs to the partition {shown}, which is none of the "
                    f"partitions of this run: {table.shown_keys}. Nothing is written"
                ) from None
            raise
        found = {directory: list(own_files(write.at, table, directory)) for directory in table.directories}
        for directory, paths in found.items():
            if not paths:
                paths.append(_put_columns(write, directory, value))
        paths = [path for each in found.values() for path in each if not write.append or path not in former]
        files = [branch.get(path) for path in paths]
        rows = row_count(branch, files, table.asset)
        return StoredValue(paths, sum(file.size for file in files), rows, column_schema(value.schema))

    def read(self, read: Read) -> DataFrame:
        """Return the rows of the files."""
        paths = [file.path for file in read.files]
        frame = graveler_read(read.session(), read.repository, read.at.ref, paths, mergeSchema="true")
        if read.at.ref != read.at.commit_id:
            _require_unchanged(read)
        for column in read.columns or ():
            if column not in frame.columns:
                raise unknown_column(read.table.asset, column, frame.columns)
        return frame if read.columns is None else frame.select(*read.columns)


def _require_unchanged(read: Read) -> None:
    """Require that the files that Spark has listed again are those of the first listing.

    Raises:
        FileChanged: A file was replaced or removed after the first listing.
    """
    listed = table_files(read.repository.at(read.at.ref), read.table).values()
    now = {file.path: file for files in listed for file in files}
    for file in read.files:
        if now.get(file.path) != file:
            raise FileChanged(read.table.asset, file.path)


def _split(frame: DataFrame, table: TablePath) -> Split | None:
    if not table.keys:
        return None
    directories = {
        str(key): directory.removeprefix(f"{table.path}/")
        for key, directory in zip(table.keys, table.directories, strict=True)
    }
    if not table.is_split:
        return Split(F.lit(str(table.keys[0])), directories)
    columns = zip(table.dimensions, zip(*table.values, strict=True), strict=True)
    keys = [_key(frame, dimension, sorted(set(values))) for dimension, values in columns]
    return Split(F.concat_ws("|", *keys), directories)


def _key(frame: DataFrame, dimension: Dimension, values: list[str]) -> Column:
    """Return the partition key of a row in one dimension: its value as text, or that of its time window.

    A row without a value, or outside of all time windows of the run, gets a text that is no partition key.
    """
    expression = dimension.expression or ""
    column = F.col(f"`{expression}`") if expression in frame.columns else F.expr(expression)
    text = F.coalesce(column.cast("string"), F.lit(f"{_NO_KEY}null"))
    kind = frame.select(column).schema.fields[0].dataType
    windows = [(value, window) for value in values if (window := dimension.window(value)) is not None]
    if not windows or not isinstance(kind, DateType | TimestampType | TimestampNTZType):
        return text
    local = not isinstance(kind, TimestampType)

    def inside(window: dg.TimeWindow) -> Column:
        start, end = (moment.replace(tzinfo=None) if local else moment for moment in (window.start, window.end))
        kind_of = "timestamp_ntz" if local else "timestamp"
        times = column.cast(kind_of)
        return (times >= F.lit(start).cast(kind_of)) & (times < F.lit(end).cast(kind_of))

    first, *others = [(inside(window), F.lit(value)) for value, window in windows]
    return reduce(lambda chosen, case: chosen.when(*case), others, F.when(*first)).otherwise(
        F.concat(F.lit(_NO_KEY), text)
    )


def _put_columns(write: Write, directory: str, frame: DataFrame) -> str:
    """Stage a file without rows, which keeps the columns of an empty partition."""
    sink, path = pa.BufferOutputStream(), f"{directory}{write.append}part-00000.parquet"
    pq.write_table(to_arrow_schema(frame.schema, timezone="UTC").empty_table(), sink)
    write.branch.put(path, sink.getvalue().to_pybytes(), content_type=PARQUET)
    return path
