"""DataFrame of entries as `SortedRows`: columns are checked, rows are partitioned by key, and each partition is sorted.

Keys are split and sorted as bytes, independently of the collation of the session or a column. Spark samples the rows
to find the split points, so the DataFrame is computed twice unless it is cached.
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

from graveler.spark.cluster import SparkCluster
from graveler_core.codec.entry import normalise
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import AddressType
from graveler_core.stores import Cluster

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from graveler_core.stores import Stores

U = TypeVar("U")
_PATH: Final = "path"
"""Name of the key in the relation `entries`."""


@dataclass(frozen=True)
class SortedFrame:
    """Rows of a DataFrame, made by `sorted_frame`."""

    frame: DataFrame

    def map(self, cluster: Cluster | None, work: Callable[[Stores, Iterator[pa.RecordBatch]], U]) -> Iterator[U]:
        """Process the rows as `SortedRows.map` says; the cluster is Spark."""
        if not isinstance(cluster, SparkCluster):
            raise InvalidInput(
                "staging a DataFrame needs Spark's workers: connect with a cluster, as in "
                "connection.connect(SparkCluster(spark, connection))"
            )
        return cluster.map_rows(work, self.frame)


def sorted_frame(frame: DataFrame, partitions: int | None = None) -> SortedFrame:
    """Return the rows of a DataFrame as `stage_many` takes them, sorted.

    Args:
        frame: A DataFrame with the columns of `stage_many` or of the relation `entries`: `path` for `key`, and the
            address type also by name.
        partitions: Number of partitions; by default, the number of shuffle partitions of the session.

    Raises:
        InvalidInput: A column is unknown, missing or duplicated, or has a type that cannot be converted.
    """
    if partitions is not None and partitions < 1:
        raise InvalidInput(f"partitions {partitions}: must be at least 1")
    _require_staged(frame.schema)
    rows = frame.select([_column(field).alias(_name(field)) for field in frame.schema])
    cut = [F.col("key")] if partitions is None else [partitions, F.col("key")]
    return SortedFrame(rows.repartitionByRange(*cut).sortWithinPartitions("key"))


def _require_staged(schema: StructType) -> None:
    """Check the columns before anything is computed, instead of letting workers reject the rows."""
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
        # An unknown name becomes -1, which a worker rejects together with the entry's key.
        return F.array_position(F.array(*[F.lit(kind.name.lower()) for kind in AddressType]), F.lower(column)) - 1
    return column
