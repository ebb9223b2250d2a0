"""Tables in a repository: a DataFrame becomes the Parquet files of a directory, or of one directory a partition.

`jobs.source` writes and reads them; here is where they stand, how Spark spells it, and how rows are put in order.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, VariantType

from graveler_core.errors import InvalidInput, Kind

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PARQUET = "application/vnd.apache.parquet"
_PARTITION = "__partition"
_HADOOP_SCHEMES = {"s3": "s3a", "gs": "gs", "az": "abfss", "file": "file"}


@dataclass(frozen=True, slots=True)
class Split:
    """How a table is cut into directories: `expression` (SQL) gives each row its key, one of `keys`."""

    expression: str
    keys: Sequence[str]


def folder(key: str) -> str:
    """The directory of a partition, in that of its table. Ends in a slash."""
    named = quote(key, safe="-_.~")
    # What begins so is hidden from whoever reads the whole table.
    return f"{f'%{ord(named[0]):02X}{named[1:]}' if named[:1] in ('_', '.') else named}/"


def directory(path: str, key: str | None = None) -> str:
    """Where a table's files, or those of one partition of it, stand in the repository. Ends in a slash."""
    return f"{path}/" if key is None else f"{path}/{folder(key)}"


def hadoop_uri(namespace: str, address: str = "") -> str:
    """A storage namespace, or an object in it, as Spark's file systems spell it: their own schemes, nothing escaped."""
    scheme, _, rest = namespace.partition("://")
    if scheme not in _HADOOP_SCHEMES:
        raise InvalidInput(
            f"storage namespace {namespace!r}: Spark reads and writes {', '.join(_HADOOP_SCHEMES)} only",
            kind=Kind.InvalidNamespace,
            uri=namespace,
        )
    return f"{_HADOOP_SCHEMES[scheme]}://{unquote(rest).rstrip('/')}/{address}".rstrip("/")


def stage_table(frame: DataFrame, options: Mapping[str, str], split: Split | None = None) -> None:
    """Stage the rows of a DataFrame on a branch, in place of a table's, or of some partitions of it.

    Args:
        frame: Any DataFrame, of a session that knows `format("graveler")`. Without `split` it is written as it is
            partitioned and ordered.
        options: Store, repository, branch and path, as `format("graveler")` takes them.
        split: One directory a key, for partitioned tables; a row of no known key fails the write. Rows are sorted by
            all their plain columns: equal rows give equal files, whatever else was written with them.
    """
    given = {**options, "stage": "true"}
    if split is not None:
        frame = _in_order(frame, split)
        given |= {"partition_column": _PARTITION, "partitions": json.dumps(list(split.keys))}
    frame.write.format("graveler").mode("overwrite").options(**given).save()


def _in_order(frame: DataFrame, split: Split) -> DataFrame:
    """The rows with their keys: those of a key in one task, sorted."""
    key = F.expr(split.expression).cast("string")
    found = F.array_position(F.array(*[F.lit(each) for each in split.keys]), key)
    number = F.greatest(F.coalesce(found, F.lit(0)) - 1, F.lit(0)).cast("int")
    plain = [f.name for f in frame.schema if isinstance(f.dataType, AtomicType) and f.dataType != VariantType()]
    placed = frame.withColumn(_PARTITION, key).repartitionById(len(split.keys), number)
    return placed.sortWithinPartitions(_PARTITION, *plain)
