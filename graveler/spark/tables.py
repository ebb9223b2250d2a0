"""Tables in a repository: a DataFrame becomes the Parquet files of a directory, or of one directory per partition.

`graveler.spark.source` writes and reads them. This module defines the directories, their form as Spark URIs, and the
order of rows.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, VariantType

from graveler_core.errors import InvalidInput, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

PARQUET = "application/vnd.apache.parquet"
_PARTITION = "__partition"
_HADOOP_SCHEMES = {"s3": "s3a", "gs": "gs", "az": "abfss", "file": "file"}


@dataclass(frozen=True, slots=True)
class Split:
    """Division of a table into directories."""

    key: Column
    """Expression for the partition key of a row, as text."""
    directories: Mapping[str, str]
    """Directory of each key below the table, with a trailing slash."""


def folder(key: str) -> str:
    """Return the directory of a partition, relative to its table. Ends in a slash."""
    named = quote(key, safe="-_.~")
    # Names that begin like this are hidden from readers of the whole table.
    return f"{f'%{ord(named[0]):02X}{named[1:]}' if named[:1] in ('_', '.') else named}/"


def hadoop_uri(namespace: str, address: str = "") -> str:
    """Return a storage namespace, or an object in it, in the form of Spark's file systems: with their schemes,
    unescaped.
    """
    scheme, _, rest = namespace.partition("://")
    if scheme not in _HADOOP_SCHEMES:
        raise InvalidInput(
            f"storage namespace {namespace!r}: Spark reads and writes {', '.join(_HADOOP_SCHEMES)} only",
            kind=Kind.InvalidNamespace,
            uri=namespace,
        )
    return f"{_HADOOP_SCHEMES[scheme]}://{unquote(rest).rstrip('/')}/{address}".rstrip("/")


def stage_table(
    frame: DataFrame, options: Mapping[str, str], split: Split | None = None, *, mode: str = "overwrite"
) -> None:
    """Stage the rows of a DataFrame on a branch, as those of a table, or of some of its partitions.

    Args:
        frame: Any DataFrame of a session that has `format("graveler")` registered. Without `split`, it is written with
            its partitioning and order.
        options: Store, repository, branch and path, as for `format("graveler")`.
        split: One directory per key, for partitioned tables. A row with an unknown key fails the write. Rows are sorted
            by all their atomic columns: equal rows give equal files, whatever else was written with them.
        mode: `overwrite` to replace the files of the table or of the partitions, or `append`.
    """
    given = {**options, "stage": "true"}
    if split is not None:
        frame = _in_order(frame, split)
        given |= {"partition_column": _PARTITION, "partitions": json.dumps(dict(split.directories))}
    frame.write.format("graveler").mode(mode).options(**given).save()


def _in_order(frame: DataFrame, split: Split) -> DataFrame:
    """Return the rows with their keys, sorted, and with all rows of a key in one task."""
    key, keys = split.key.cast("string"), list(split.directories)
    found = F.array_position(F.array(*[F.lit(each) for each in keys]), key)
    number = F.greatest(F.coalesce(found, F.lit(0)) - 1, F.lit(0)).cast("int")
    plain = [f.name for f in frame.schema if isinstance(f.dataType, AtomicType) and f.dataType != VariantType()]
    placed = frame.withColumn(_PARTITION, key).repartitionById(len(keys), number)
    return placed.sortWithinPartitions(_PARTITION, *plain)
