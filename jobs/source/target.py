"""Where a write goes, out of its options: checked before any row is computed."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
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

from graveler_core.engine.draft import Draft
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.ids import RepositoryId, RepositoryUid
from graveler_core.model.names import branch_id, path_key
from graveler_core.refs import branches
from jobs.connection import Connection, guarded, opened
from jobs.sight import Sight, sights
from jobs.source.options import flag, whole_number, write_options
from jobs.source.relations import record_of
from jobs.tables import folder

FILE_BYTES = 128 << 20
"""Of a file, about: it is in memory until it is stored."""
_NOT_KEPT = (
    CalendarIntervalType,
    DayTimeIntervalType,
    NullType,
    UserDefinedType,
    VariantType,
    YearMonthIntervalType,
)
"""Types that would come back as others, or not at all."""


@dataclass(frozen=True)
class Target:
    """A directory on a branch, and what the commit says."""

    connection: Connection
    repository: RepositoryId
    uid: RepositoryUid
    branch: str
    path: str
    """Without a slash at its end."""
    overwrite: bool
    schema: pa.Schema
    sights: tuple[Sight, ...]
    """What the driver sees of local files, and the workers must."""
    file_bytes: int
    message: str
    committer: str
    metadata: Mapping[str, str]
    query: str = ""
    """Of a stream, where it is named."""
    key: str = field(default="", repr=False)
    """The idempotency key."""
    staged: bool = False
    """Not committed: that is left to whoever commits the branch."""
    partition_column: str = ""
    """The column that says in which directory below the path a row comes to; "": all rows stand in one."""
    folders: Mapping[str, str] = field(default_factory=dict)
    """What it may hold, and the directory for each, with a slash at its end."""

    def path_of(self, name: str) -> str:
        """The path of a file."""
        return f"{self.path}/{name}"

    def replaced(self) -> list[str]:
        """The directories that an overwrite replaces, with a slash at the end."""
        return [self.path_of(folder) for folder in self.folders.values()] or [f"{self.path}/"]


def target_of(options: Mapping[str, str], schema: StructType, *, overwrite: bool, stream: bool) -> Target:
    """Where a write goes.

    Raises:
        InvalidInput: an option is unknown, missing or wrong; a column has a type that Parquet does not keep.
        NotFound: the repository or the branch does not exist.
        PermissionDenied: it was said who may do what, and the caller may not even look at the branch.
    """
    connection, repository = write_options(options, stream=stream)
    path = options["path"].rstrip("/")
    path_key(path)
    _require_kept(schema)
    guarded(connection).repository(repository).branch(options["branch"])  # strangers upload nothing
    stores = opened(connection)
    record = record_of(stores, repository)
    branch = branches.get_branch(stores.kv, record, branch_id(options["branch"])).value.id
    folders = _folders(options, schema)
    said = Draft(options.get("message", ""), options.get("committer", ""), _metadata(options))
    return Target(
        connection=connection,
        repository=record.id,
        uid=record.uid,
        branch=branch,
        path=path,
        overwrite=overwrite,
        schema=to_arrow_schema(schema, timezone="UTC"),
        sights=sights(connection.url, [record.storage_namespace]),
        file_bytes=whole_number(options, "file_bytes", FILE_BYTES),
        message=said.message or f"{'Overwrite' if overwrite else 'Append to'} {path}",
        committer=said.committer,
        metadata=said.metadata,
        query=options.get("query", ""),
        key=options.get("idempotency_key") or f"spark/{uuid.uuid4().hex}",
        staged=not stream and flag(options, "stage"),
        partition_column=options.get("partition_column", ""),
        folders=folders,
    )


def _folders(options: Mapping[str, str], schema: StructType) -> dict[str, str]:
    column, given = options.get("partition_column", ""), options.get("partitions", "")
    if not column and not given:
        return {}
    keys = _json(options, "partitions", "[]")
    if not isinstance(keys, list) or not keys or not all(isinstance(key, str) and key for key in keys):
        raise InvalidInput("option 'partitions': must be a JSON array of texts", option="partitions")
    if column not in schema.names or schema[column].dataType != StringType() or len(schema.names) < 2:
        raise InvalidInput(
            f"option 'partition_column': there is no column {column!r} of texts, beside others",
            option="partition_column",
        )
    return {key: folder(key) for key in keys}


def _json(options: Mapping[str, str], name: str, default: str) -> Any:
    """What an option says as JSON; None where it is none."""
    try:
        return json.loads(options.get(name, default))
    except ValueError:
        return None


def _metadata(options: Mapping[str, str]) -> dict[str, str]:
    found = _json(options, "metadata", "{}")
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise InvalidInput("option 'metadata': must be a JSON object of texts", option="metadata")
    return found


def _require_kept(schema: StructType) -> None:
    names = [name.lower() for name in schema.names]
    for name, column in zip(names, schema.fields, strict=True):
        if names.count(name) > 1:
            raise InvalidInput(f"column {column.name!r}: there are several, but for upper and lower case")
        if kind := _not_kept(column.dataType):
            raise InvalidInput(f"column {column.name!r}: has type {kind}, which Parquet does not keep; cast it")
    if not names:
        raise InvalidInput("there is no column to write", kind=Kind.InvalidValue)


def _not_kept(kind: DataType) -> str:
    """The name of a type inside of this one that is not kept; "" where there is none."""
    if isinstance(kind, _NOT_KEPT):
        return kind.simpleString()
    inner = [value for value in vars(kind).values() if isinstance(value, DataType)]
    inner += [column.dataType for column in kind.fields] if isinstance(kind, StructType) else []
    return next(filter(None, map(_not_kept, inner)), "")
