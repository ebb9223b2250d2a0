"""File contents as DataFrames: Spark's readers receive the addresses of the objects under a path. No data passes
through Python.

The addresses of objects are independent of their paths. So partition columns (`…/year=2013/…`) cannot be derived
from the location of a file. They are joined to the rows by the file name that Spark reports for a row.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F

from graveler.spark.environment_errors import explained, require_session
from graveler.spark.source.options import PLACE, place, require_known
from graveler.spark.source.partitions import partition_table
from graveler.spark.tables import hadoop_uri
from graveler_core.errors import InvalidInput, Kind, LimitExceeded, NotFound
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.model.entry import AddressType

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.types import StructType

FORMATS = ("parquet", "csv", "json", "orc", "text", "xml", "avro", "binaryFile")
MOST_FILES = 65_536
"""Maximum number of files per read, because the driver handles their names and Spark lists them again. Also the page
size of a listing.
"""
_HIDDEN = re.compile(r"(^|/)(\.|_[^/=]*(/|$))")
"""Names that Spark skips in directories: those that begin with . or _, except partitions."""
_GLOB = re.compile(r"([\\*?\[\]{}])")
_FILE = "__graveler_file"


_MISSING = "PATH_NOT_FOUND"
"""Condition of Spark's error for an object that does not exist."""


class RequestedFile(NamedTuple):
    """Object to read: its path relative to the requested path, its URI in Spark's form, and the path of its entry."""

    path: str
    uri: str
    entry: str


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
    """Return the rows of the files under a path at a ref, read by Spark.

    Directories `name=value` below the path become columns, as in Spark: whole numbers and dates are recognized,
    unless `spark.sql.sources.partitionColumnTypeInference.enabled` is false.

    Args:
        spark: The session.
        source: A repository, or the options that identify one: `store` or `store_env`, `repository`,
            `storage.<name>`.
        ref: Any ref expression. The call determines the files. On a branch with staged changes, each path is listed in
            a state that it had during the call.
        path: A directory or file of the repository, or several.
        format: One of `FORMATS`.
        schema: Schema of the files; by default, Spark infers it.
        options: Options of Spark's reader for that format.

    Raises:
        NotFound: (`PathNotFound`) There are no files. (`ContentErased`, `ContentExpired`) The content of a file was
            erased or has expired.
        LimitExceeded: There are more than `MOST_FILES`.
        InvalidInput: There is no session, the format is unknown, content is inline in an entry, Spark cannot read the
            namespace, or directories have different partition columns.
        Unavailable: The session is stopped, or has no file system for the namespace.
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
    uris = {_bare(file.uri): file.uri for file in files}  # several entries may name one object
    with explained():
        reader = spark.read.format(format).options(**options)
        reader = reader if schema is None else reader.schema(schema)
        try:
            loaded = reader.load([_GLOB.sub(r"\\\1", uri) for uri in uris.values()])
        except Exception as error:
            if _MISSING in str(error):
                _explain_missing(source, ref, files, str(error))
            raise
        return _one_per_entry(spark, loaded, files, repeated=len(uris) < len(files))


def _explain_missing(
    source: Repository | Mapping[str, str], ref: str, files: Sequence[RequestedFile], said: str
) -> None:
    """Read the files that Spark has not found with graveler, which raises an error with the reason."""
    with _repository(source) as repository:
        at = repository.at(ref)
        for file in files:
            if file.uri.partition("://")[2].lstrip("/") in said:
                at.read(file.entry, 0, 1)


@contextmanager
def _repository(source: Repository | Mapping[str, str]) -> Iterator[Repository]:
    if isinstance(source, Repository):
        yield source
        return
    require_known(source, PLACE, "graveler_read")
    connection, repository = place(source)
    with connection.connect() as graveler:
        yield graveler.repository(repository)


def _files(at: Snapshot, namespace: str, path: str) -> list[RequestedFile]:
    """Return the files that Spark would read of a directory, or a single file of any name."""
    directory = path if not path or path.endswith("/") else f"{path}/"
    found: list[RequestedFile] = []
    for batch in at.to_arrow(directory):
        columns = batch.select(["key", "address", "address_type"]).to_pydict().values()
        for key, address, kind in zip(*columns, strict=True):
            full = key.decode()
            below = full.removeprefix(directory)
            if not _HIDDEN.search(below) and not full.endswith("/"):
                found.append(RequestedFile(below, _uri(namespace, full, address, kind), full))
        if len(found) > MOST_FILES:
            raise LimitExceeded(
                f"path {path!r}: holds more than {MOST_FILES:,} files; read a part, or make them fewer and larger",
                kind=Kind.TooManyItems,
                path=path,
                limit=MOST_FILES,
            )
    if directory != path and not found:
        found += _single(at, namespace, path)
    return found


def _single(at: Snapshot, namespace: str, path: str) -> list[RequestedFile]:
    try:
        entry = at.get(path)
    except NotFound as e:
        if e.kind is not Kind.PathNotFound:
            raise
        return []
    return [RequestedFile(path.rpartition("/")[2], _uri(namespace, path, entry.address, entry.address_type), path)]


def _uri(namespace: str, path: str, address: str | None, kind: int) -> str:
    if address is None or kind == AddressType.INLINE:
        raise InvalidInput(
            f"path {path!r}: must be stored as a file, but its content is inline", kind=Kind.InvalidPath, path=path
        )
    return hadoop_uri(address) if kind == AddressType.FULL else hadoop_uri(namespace, address)


def _one_per_entry(
    spark: SparkSession, frame: DataFrame, files: Sequence[RequestedFile], *, repeated: bool
) -> DataFrame:
    """Return the rows of each file with its partition columns.

    Args:
        spark: The session.
        frame: Rows of the objects. Spark has read each object once.
        files: The files.
        repeated: Several files have the same object, so that its rows occur several times.
    """
    inferred = spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled", "true") == "true"
    values = partition_table([file.path for file in files], inferred=inferred)
    if not values.num_columns and not repeated:
        return frame
    columns = {name: values[name] for name in values.column_names}
    files_of = pa.table({**columns, _FILE: [_bare(file.uri) for file in files]})
    named = frame.drop(*columns).withColumn(_FILE, _row_file())
    joined = named.join(F.broadcast(spark.createDataFrame(files_of)), _FILE, "left")
    return joined.drop(_FILE)


def _row_file() -> Column:
    """Return an expression for the file of a row. Spark escapes characters that a URI must not contain, and is
    inconsistent about slashes.
    """
    plain = F.url_decode(F.regexp_replace(F.col("_metadata.file_path"), r"\+", "%2B"))
    return F.regexp_replace(plain, "^file:/+", "file:/")


def _bare(uri: str) -> str:
    return re.sub("^file:/+", "file:/", uri)
