"""Content as DataFrames: Spark's readers are told where the objects under a path are; no byte passes through Python.

Objects have addresses of their own, whatever the paths say. So partition columns (`…/year=2013/…`) cannot come from
where a file is: they are joined to the rows by the file that Spark says a row is from.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from graveler_core.errors import InvalidInput, Kind, LimitExceeded, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import AddressType
from jobs.source.options import PLACE, place, require_known
from jobs.source.partitions import partition_table
from jobs.spark_errors import explained, require_session
from jobs.tables import hadoop_uri

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS = ("parquet", "csv", "json", "orc", "text", "xml", "avro", "binaryFile")
MOST_FILES = 65_536
"""In one read: their names go through the driver, and are listed by Spark once more. It is a page of a listing, too."""
_HIDDEN = re.compile(r"(^|/)(\.|_[^/=]*(/|$))")
"""What Spark passes by in directories: names that begin with . or _, but for partitions."""
_GLOB = re.compile(r"([\\*?\[\]{}])")
_FILE = "__graveler_file"


class File(NamedTuple):
    """An object to read: its path below the one that was asked for, and where it is, as Spark spells it."""

    path: str
    uri: str


def graveler_read(  # noqa: PLR0913 - one call, all but four of it optional
    spark: SparkSession,
    source: Repository | Mapping[str, str],
    ref: str,
    path: str | Sequence[str],
    format: str = "parquet",
    *,
    schema: StructType | str | None = None,
    **options: str,
) -> DataFrame:
    """The rows of the files under a path at a ref, read by Spark.

    Directories `name=value` below the path become columns, as Spark would make them: whole numbers and dates are told
    from texts, unless `spark.sql.sources.partitionColumnTypeInference.enabled` is false.

    Args:
        source: A repository, or the options that name one: `store` or `store_env`, `repository`, `storage.<name>`.
        ref: Any ref expression. The files are settled in the call; of a branch with staged changes each path is listed
            in one state that it had during the call.
        path: A directory or file of the repository, or several.
        format: One of `FORMATS`.
        schema: Of the files, where Spark is not to find it out.
        options: Of Spark's reader of that format.

    Raises:
        NotFound: (`PathNotFound`) there are no files.
        LimitExceeded: there are more than `MOST_FILES`.
        InvalidInput: no session, an unknown format, content inline in an entry, a namespace that Spark cannot read, or
            directories that disagree about the columns.
        Unavailable: the session is stopped, or has no file system for the namespace.
    """
    require_session(spark)
    if format not in FORMATS:
        raise InvalidInput(f"format {format!r}: must be one of {', '.join(FORMATS)}", format=format)
    paths = [path] if isinstance(path, str) else list(path)
    with _repository(source) as repository:
        at, namespace = repository.at(ref), repository.storage_namespace
        files = [file for each in paths for file in _files(at, namespace, each)]
    if not files:
        raise NotFound(f"no files under {', '.join(map(repr, paths))} at {ref!r}", kind=Kind.PathNotFound, paths=paths)
    with explained():
        reader = spark.read.format(format).options(**options)
        reader = reader if schema is None else reader.schema(schema)
        return _with_partitions(spark, reader.load([_GLOB.sub(r"\\\1", file.uri) for file in files]), files)


@contextmanager
def _repository(source: Repository | Mapping[str, str]) -> Iterator[Repository]:
    if isinstance(source, Repository):
        yield source
        return
    require_known(source, PLACE, "graveler_read")
    connection, repository = place(source)
    with connection.connect() as graveler:
        yield graveler.repository(repository)


def _files(at: Snapshot, namespace: str, path: str) -> list[File]:
    """What Spark would read of a directory; or one file, whatever its name."""
    directory = path if not path or path.endswith("/") else f"{path}/"
    found: list[File] = []
    for batch in at.to_arrow(directory):
        columns = batch.select(["key", "address", "address_type"]).to_pydict().values()
        for key, address, kind in zip(*columns, strict=True):
            full = key.decode()
            below = full.removeprefix(directory)
            if not _HIDDEN.search(below):
                found.append(File(below, _uri(namespace, full, address, kind)))
        if len(found) > MOST_FILES:
            raise LimitExceeded(
                f"path {path!r}: holds more than {MOST_FILES:,} files; read a part, or make them fewer and larger",
                path=path,
            )
    if directory != path and not found:
        found += _single(at, namespace, path)
    return found


def _single(at: Snapshot, namespace: str, path: str) -> list[File]:
    try:
        entry = at.get(path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        return []
    return [File(path.rpartition("/")[2], _uri(namespace, path, entry.address, entry.address_type))]


def _uri(namespace: str, path: str, address: str | None, kind: int) -> str:
    if address is None or kind == AddressType.INLINE:
        raise InvalidInput(f"path {path!r}: its content is inline, not a file", kind=Kind.InvalidPath, path=path)
    return hadoop_uri(address) if kind == AddressType.FULL else hadoop_uri(namespace, address)


def _with_partitions(spark: SparkSession, frame: DataFrame, files: Sequence[File]) -> DataFrame:
    inferred = spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled", "true") == "true"
    values = partition_table([file.path for file in files], inferred=inferred)
    if not values.num_columns:
        return frame
    files_of = values.append_column(_FILE, [[_bare(file.uri) for file in files]])
    named = frame.drop(*values.column_names).withColumn(_FILE, _row_file())
    joined = named.join(F.broadcast(spark.createDataFrame(files_of)), _FILE, "left")
    return joined.drop(_FILE)


def _row_file() -> Column:
    """Which file a row is from. Spark escapes what a URI must not hold, and is not sure about slashes."""
    plain = F.url_decode(F.regexp_replace(F.col("_metadata.file_path"), r"\+", "%2B"))
    return F.regexp_replace(plain, "^file:/+", "file:/")


def _bare(uri: str) -> str:
    return re.sub("^file:/+", "file:/", uri)
