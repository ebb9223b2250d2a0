"""Tables in a repository: Spark writes their Parquet files where the repository keeps its objects.

The files' bytes go from Spark to the store and back, never through Python: what passes here are names, sizes and
checksums. A write goes below a fresh attempt prefix, so that a task that runs twice, or a job that dies, leaves nothing
that anybody refers to; its entries become visible only when the driver stages them. `jobs.source` reads them.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

import polars as pl
import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import AtomicType, VariantType

from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.entry import AddressType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

CHECKSUM_PREFIX = "parquet-pages-sha256:"
PARQUET = "application/vnd.apache.parquet"
_ORDINAL = "__partition"
_HADOOP_SCHEMES = {"s3": "s3a", "gs": "gs", "az": "abfss", "file": "file"}


@dataclass(frozen=True, slots=True)
class Split:
    """How a table is cut into directories: `expression` (SQL) gives each row its key, one of `keys`."""

    expression: str
    keys: Sequence[str]


def directory(path: str, key: str | None = None) -> str:
    """Where a table's files, or those of one partition of it, stand in the repository. Ends in a slash."""
    if key is None:
        return f"{path}/"
    named = quote(key, safe="-_.~")
    # What begins so is hidden from whoever reads the whole table.
    return f"{path}/{f'%{ord(named[0]):02X}{named[1:]}' if named[:1] in ('_', '.') else named}/"


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


def write_files(frame: DataFrame, namespace: str, path: str, split: Split | None = None) -> pa.Table:
    """Write a DataFrame as Parquet files below a fresh prefix of `namespace`; give the entries to stage.

    Args:
        frame: Any DataFrame. Without `split` it is written as it is partitioned and ordered.
        namespace: The repository's storage namespace.
        path: The table's path in the repository.
        split: One directory a key, for partitioned tables; a row of no known key is an error. Rows are sorted by all
            their plain columns: equal rows give equal files, whatever else was written with them.

    Returns:
        Columns key, address, address_type, size (bytes), checksum (of the content), mtime, content_type; sorted by key.
    """
    attempt = f"data/{uuid.uuid4().hex}"
    target = hadoop_uri(namespace, attempt)
    if split is None:
        frame.write.parquet(target)
    else:
        _write_split(frame, target, split)
    return _entries(_written(frame, target), attempt, path, split)


def _write_split(frame: DataFrame, target: str, split: Split) -> None:
    # Directories are named by number: a key's own text may hold what neither Hive's nor our addresses accept.
    keys = F.array(*[F.lit(k) for k in split.keys])
    number = F.coalesce(F.array_position(keys, F.expr(split.expression)), F.lit(0))
    numbered = frame.withColumn(_ORDINAL, number.cast("int"))
    plain = [f.name for f in frame.schema if isinstance(f.dataType, AtomicType) and f.dataType != VariantType()]
    ranged = numbered.repartitionByRange(len(split.keys), _ORDINAL)
    ranged.sortWithinPartitions(_ORDINAL, *plain).write.partitionBy(_ORDINAL).parquet(target)


def _written(frame: DataFrame, target: str) -> pl.DataFrame:
    """What was written, hashed by Spark: columns path, size, mtime, checksum, number, part."""
    files = frame.sparkSession.read.format("binaryFile").option("recursiveFileLookup", "true")
    listed = files.option("pathGlobFilter", "*.parquet").load(target)
    listed = listed.select(
        "path",
        F.col("length").alias("size"),
        F.col("modificationTime").alias("mtime"),
        _checksum(frame.schema.simpleString()).alias("checksum"),
    )
    table = pl.DataFrame(pl.from_arrow(listed.toArrow()))
    return table.with_columns(
        number=pl.col("path").str.extract(rf"/{_ORDINAL}=(\d+)/").cast(pl.Int64),
        part=pl.col("path").str.extract(r"/(part-[^/]+)$"),
    ).sort("number", "part")


def _checksum(schema: str) -> Column:
    """SHA-256 of a Parquet file's pages (all before the footer) and of its schema, as `parquet-pages-sha256:<hex>`.

    Not of the whole file: the JVM writes the sets of encodings in the footer in an order that changes from process to
    process, so the same rows, written again by another run, would count as a change.
    """
    last_bytes = [F.expr(f"conv(hex(substring(content, length - {7 - n}, 1)), 16, 10)").cast("long") for n in range(4)]
    footer = sum((byte * 256**n for n, byte in enumerate(last_bytes)), F.lit(0))  # little-endian, before the magic PAR1
    pages = F.col("content").substr(F.lit(1), (F.col("length") - 8 - footer).cast("int"))
    return F.concat(F.lit(CHECKSUM_PREFIX), F.sha2(F.concat(pages, F.lit(schema).cast("binary")), 256))


def _entries(files: pl.DataFrame, attempt: str, path: str, split: Split | None) -> pa.Table:
    if split is None:
        folder = pl.lit(directory(path))
    else:
        if files["number"].min() == 0:
            raise InvalidInput(
                f"table {path!r}: rows lie outside the partitions {list(split.keys)}", kind=Kind.InvalidValue, path=path
            )
        folders = {n: directory(path, key) for n, key in enumerate(split.keys, start=1)}
        folder = pl.col("number").replace_strict(folders, return_dtype=pl.String)
    # Files are numbered inside their directory: Spark's own numbers depend on what else was written in the same job.
    rank = pl.int_range(pl.len()).over("number").cast(pl.String).str.zfill(5)
    entries = files.select(
        key=pl.concat_str(folder, pl.lit("part-"), rank, pl.lit(".parquet")).cast(pl.Binary),
        address=pl.concat_str(pl.lit(attempt + "/"), pl.col("path").str.extract(rf"/{attempt}/(.+)$")),
        address_type=pl.lit(AddressType.RELATIVE, dtype=pl.Int8),
        size=pl.col("size"),
        checksum=pl.col("checksum"),
        mtime=pl.col("mtime"),
        content_type=pl.lit(PARQUET),
    ).sort("key")
    return entries.to_arrow(compat_level=pl.CompatLevel.oldest())
