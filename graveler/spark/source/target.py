"""Target of a write, from its options, validated before any row is computed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    CalendarIntervalType,
    DataType,
    DayTimeIntervalType,
    NullType,
    StringType,
    StructType,
    UserDefinedType,
    VariantType,
    YearMonthIntervalType,
)

from graveler.spark.connection import Connection, guarded
from graveler.spark.filesystem_check import Sight, sights
from graveler.spark.source.options import flag, whole_number, write_options
from graveler.spark.tables import folder
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.commit_texts import require_texts
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.model.names import new_path_key

FILE_BYTES = 128 << 20
"""Approximate size of a file, in bytes. A file is in memory until it is stored."""
_NOT_KEPT = (
    CalendarIntervalType,
    DayTimeIntervalType,
    NullType,
    UserDefinedType,
    VariantType,
    YearMonthIntervalType,
)
"""Types that Parquet returns as other types, or cannot store."""


@dataclass(frozen=True)
class Target:
    """Directory on a branch, and the properties of the commit."""

    connection: Connection
    repository: RepositoryId
    uid: RepositoryUid
    branch: str
    path: str
    """Path without a trailing slash."""
    overwrite: bool
    schema: pa.Schema
    sights: tuple[Sight, ...]
    """Local files as the driver sees them; the workers must see the same."""
    file_bytes: int
    message: str
    committer: str
    metadata: Mapping[str, str]
    query: str = ""
    """Name of the query of a stream, if given."""
    key: str = field(default="", repr=False)
    """Idempotency key."""
    staged: bool = False
    """True to stage the files without a commit."""
    partition_column: str = ""
    """Column whose value selects the directory of a row below the path; "" puts all rows into one directory."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """Allowed values of that column, with the directory of each, with a trailing slash."""

    @property
    def for_workers(self) -> Target:
        """Return the target without credentials, which workers do not need."""
        return replace(self, connection=self.connection.for_workers)

    def path_of(self, name: str) -> str:
        """Return the path of a file."""
        return f"{self.path}/{name}"

    def replaced(self) -> list[str]:
        """Return the directories that an overwrite replaces, with a trailing slash."""
        return [self.path_of(folder) for folder in self.folders.values()] or [f"{self.path}/"]


def target_of(options: Mapping[str, str], schema: StructType, *, overwrite: bool, stream: bool) -> Target:
    """Return the target of a write.

    Raises:
        InvalidInput: An option is unknown, missing or invalid; Parquet cannot store the type of a column.
        NotFound: The repository or the branch does not exist.
        PermissionDenied: Access control is on, and the caller may not read the branch.
    """
    connection, repository = write_options(options, stream=stream)
    path = options["path"].rstrip("/")
    new_path_key(path)
    _require_kept(schema)
    repo = guarded(connection).repository(repository)  # unauthorized callers must not upload
    branch = repo.branch(options["branch"])
    folders = _folders(options, schema)
    message, committer, metadata = options.get("message", ""), options.get("committer", ""), _metadata(options)
    require_texts(message, committer, metadata, options.get("idempotency_key", ""))
    return Target(
        connection=connection,
        repository=repo.id,
        uid=repo.uid,
        branch=branch.name,
        path=path,
        overwrite=overwrite,
        schema=to_arrow_schema(schema, timezone="UTC"),
        sights=sights(connection.url, [repo.storage_namespace]),
        file_bytes=whole_number(options, "file_bytes", FILE_BYTES),
        message=message or f"{'Overwrite' if overwrite else 'Append to'} {path}",
        committer=committer,
        metadata=metadata,
        query=options.get("query", ""),
        key=options.get("idempotency_key") or f"spark/{uuid.uuid4().hex}",
        staged=not stream and flag(options, "stage"),
        partition_column=options.get("partition_column", ""),
        folders=folders,
    )


def _folders(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    column, text = options.get("partition_column", ""), options.get("partitions", "")
    if not column and not text:
        return {}
    folders = _json(options, "partitions", "[]")
    if isinstance(folders, list) and all(isinstance(key, str) and key for key in folders):
        folders = {key: folder(key) for key in folders}
    if not isinstance(folders, dict) or not folders or not all(map(_is_folder, folders.values())):
        raise InvalidInput(
            "option 'partitions': must be a JSON array of strings, or a JSON object of directories by partition, each "
            "like 'month=2013-01/'",
            option="partitions",
        )
    for outer, inner in pairwise(sorted(folders.values())):
        if inner.startswith(outer):
            raise InvalidInput(
                f"option 'partitions': each partition must have a directory of its own, but {inner!r} is the directory "
                f"{outer!r} or inside it",
                option="partitions",
            )
    texts = [each.name for each in schema.fields if each.dataType == StringType()]
    if column not in texts:
        raise InvalidInput(
            f"option 'partition_column': must name a string column, but is {column!r}; string columns are "
            f"{', '.join(map(repr, texts)) or 'none'}",
            option="partition_column",
        )
    if len(schema.names) < 2:
        raise InvalidInput(
            f"option 'partition_column': {column!r} is the only column, and the files do not contain it; they need "
            "another column",
            option="partition_column",
        )
    return folders


def _is_folder(name: object) -> bool:
    """Return `True` for directories that readers of a whole table see: none of them is hidden."""
    return (
        isinstance(name, str)
        and name.endswith("/")
        and all(part and not part.startswith(("_", ".")) for part in name[:-1].split("/"))
    )


def _json(options: Mapping[str, str], name: str, default: str) -> Any:
    """Return the value of an option, parsed as JSON, or `None` if it is not JSON."""
    try:
        return json.loads(options.get(name, default))
    except (ValueError, RecursionError):
        return None


def _metadata(options: Mapping[str, str]) -> dict[str, str]:
    found = _json(options, "metadata", "{}")
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidInput("option 'metadata': must be a JSON object of strings", option="metadata")
    return found


def _require_kept(schema: StructType) -> None:
    names = [name.lower() for name in schema.names]
    for name, column in zip(names, schema.fields, strict=True):
        if names.count(name) > 1:
            raise InvalidInput(f"column {column.name!r}: must be unique, ignoring case")
        if kind := _not_kept(column.dataType):
            raise InvalidInput(f"column {column.name!r}: has type {kind}, which Parquet cannot store; cast it")
    if not names:
        raise InvalidInput("the DataFrame must have at least one column to write", kind=Kind.InvalidValue)


def _not_kept(kind: DataType) -> str:
    """Return the name of a type inside this one that cannot be stored, or "" if there is none."""
    if isinstance(kind, _NOT_KEPT):
        return kind.simpleString()
    inner = [value for value in vars(kind).values() if isinstance(value, DataType)]
    inner += [column.dataType for column in kind.fields] if isinstance(kind, StructType) else []
    return next(filter(None, map(_not_kept, inner)), "")
