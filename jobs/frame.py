"""A DataFrame of entries as `SortedRows`: checked columns, cut by ranges of keys, each partition sorted.

Keys are cut and sorted as bytes, whatever a session or a column says of the order of text. Spark finds the cuts by
looking at some of the rows first, so the DataFrame is computed twice unless it is cached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeVar

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StringType, StructField, StructType

from graveler_core.codec.entry import normalise
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import AddressType
from graveler_core.stores import Cluster
from jobs.cluster import SparkCluster

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from graveler_core.stores import Stores

U = TypeVar("U")
_PATH: Final = "path"
"""How the relation `entries` calls the key."""


@dataclass(frozen=True)
class SortedFrame:
    """Rows of a DataFrame that `sorted_frame` has made."""

    frame: DataFrame

    def map(self, cluster: Cluster | None, work: Callable[[Stores, Iterator[pa.RecordBatch]], U]) -> Iterator[U]:
        """As `SortedRows.map` says; the cluster is Spark."""
        if not isinstance(cluster, SparkCluster):
            raise InvalidInput(
                "a DataFrame is staged by Spark's workers: connect with them, as in "
                "connection.connect(SparkCluster(spark, connection))"
            )
        return cluster.map_rows(work, self.frame)


def sorted_frame(frame: DataFrame, pieces: int | None = None) -> SortedFrame:
    """The rows of a DataFrame as `stage_many` takes them, sorted.

    Args:
        frame: Its columns are those of `stage_many`, or those of the relation `entries`: `path` for `key`, the address
            type also by name.
        pieces: Partitions to make; when not given, as many as the session makes in a shuffle.

    Raises:
        InvalidInput: a column is unknown, missing, doubled, or of a type that does not become the entry's.
    """
    if pieces is not None and pieces < 1:
        raise InvalidInput(f"pieces: is {pieces}, must be at least 1")
    _require_staged(frame.schema)
    rows = frame.select([_column(field).alias(_name(field)) for field in frame.schema])
    cut = [F.col("key")] if pieces is None else [pieces, F.col("key")]
    return SortedFrame(rows.repartitionByRange(*cut).sortWithinPartitions("key"))


def _require_staged(schema: StructType) -> None:
    """Refuse by the columns, before anything is computed, what workers would refuse by the rows."""
    names = [_name(field) for field in schema]
    normalise(pa.Table.from_arrays([pa.nulls(0)] * len(names), names=names))
    kinds = StructType([field for field in schema if not _is_named_type(field)])
    try:
        found = to_arrow_schema(kinds, timezone="UTC")
    except PySparkException as error:
        raise InvalidInput(f"columns of the DataFrame: {error.getMessage()}") from error
    normalise(found.empty_table().rename_columns([_name(field) for field in kinds]))


def _name(field: StructField) -> str:
    return "key" if field.name == _PATH else field.name


def _is_named_type(field: StructField) -> bool:
    return field.name == "address_type" and isinstance(field.dataType, StringType)


def _column(field: StructField) -> Column:
    column = F.col(f"`{field.name}`")
    if _name(field) == "key":
        return column.cast("binary")
    if _is_named_type(field):
        # A name that is none becomes -1, which a worker refuses with the entry's key.
        return F.array_position(F.array(*[F.lit(kind.name.lower()) for kind in AddressType]), F.lower(column)) - 1
    return column
