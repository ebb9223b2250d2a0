"""Rows of the source as checked values. `check` checks the relations between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from graveler_core.errors import InvalidInput
from graveler_core.model.address import namespace
from graveler_core.model.ids import BranchId, RepositoryId, StagingToken, TagId
from graveler_core.model.names import branch_id, repository_id, tag_id
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.migration.source import Row

MAX_TEXT_BYTES = 32 * 1024
"""Maximum size of all stored texts of a commit, as for commits that graveler creates."""
MAX_ID = 255
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SourceRepository:
    """Row of `graveler_repositories`."""

    id: RepositoryId
    storage_namespace: str
    creation_date: datetime
    default_branch: BranchId


@dataclass(frozen=True, slots=True)
class SourceBranch:
    """Row of `graveler_branches`."""

    id: BranchId
    staging_token: StagingToken | None
    """`None` if nothing is staged."""
    commit_id: str


@dataclass(frozen=True, slots=True)
class SourceTag:
    """Row of `graveler_tags`."""

    id: TagId
    commit_id: str


@dataclass(frozen=True, slots=True)
class SourceCommit:
    """Row of `graveler_commits`. The generation is computed, not read."""

    id: str
    committer: str
    message: str
    creation_date: datetime
    meta_range_id: str
    """Empty for a commit without content."""
    metadata: dict[str, str]
    parents: tuple[str, ...]
    """The first parent is the one that the commit was based on, for any version of the row."""


def repository_of(row: Row) -> SourceRepository:
    """Convert a row to a repository. Like all functions here, it raises `BrokenValueError` for a broken row."""
    id, place, created, default = row
    return SourceRepository(
        _name(repository_id, id, "id"),
        _obeyed(lambda: namespace(_text(place, "storage_namespace")).uri),
        _time(created),
        _name(branch_id, default, "default_branch"),
    )


def branch_of(row: Row) -> SourceBranch:
    """Convert a row to a branch."""
    id, token, commit = row
    named = None if token in (None, "") else StagingToken(_text(token, "staging_token"))
    return SourceBranch(_name(branch_id, id, "id"), named, id_of(commit, "commit_id"))


def tag_of(row: Row) -> SourceTag:
    """Convert a row to a tag."""
    id, commit = row
    return SourceTag(_name(tag_id, id, "id"), id_of(commit, "commit_id"))


def commit_of(row: Row) -> SourceCommit:
    """Convert a row to a commit."""
    id, committer, message, created, metarange, metadata, parents, version, _ = row
    found = SourceCommit(
        id_of(id, "id"),
        _text(committer, "committer"),
        _text(message, "message"),
        _time(created),
        _text(metarange, "meta_range_id"),
        _metadata(metadata),
        parents_of(parents, version),
    )
    texts = [found.committer, found.message, *found.metadata, *found.metadata.values()]
    size = sum(len(json.dumps(text, ensure_ascii=False).encode()) for text in texts)
    if size > MAX_TEXT_BYTES:
        raise BrokenValueError(f"message and metadata have {size:,} bytes; the maximum is {MAX_TEXT_BYTES:,}")
    return found


def parents_of(parents: Any, version: Any) -> tuple[str, ...]:
    """Return the parents of a commit, starting with the one that the commit was based on.

    In version 0, a merge listed the source first and the destination second. Version 1 reversed the order.
    """
    found = json_of(parents, "parents") if isinstance(parents, str) else parents
    found = [] if found is None else found
    if not isinstance(found, list):
        raise BrokenValueError("parents must be a list of commit ids")
    named = tuple(id_of(parent, "parents") for parent in found)
    if version not in (None, 0, 1) or isinstance(version, bool):
        raise BrokenValueError(f"version {version!r} is unknown; only 0 and 1 are allowed")
    return named if version == 1 else named[::-1]


def id_of(value: Any, what: str) -> str:
    """Return the id of a source commit."""
    found = _text(value, what)
    if not 1 <= len(found) <= MAX_ID:
        raise BrokenValueError(f"{what} must be a commit id of 1 to {MAX_ID} characters")
    return found


def json_of(text: str, what: str) -> Any:
    """Parse JSON."""
    try:
        return json.loads(text)
    except ValueError as e:
        raise BrokenValueError(f"{what} is not valid JSON ({e})") from e
    except RecursionError as e:
        raise BrokenValueError(f"{what} is nested too deeply") from e


def _metadata(value: Any) -> dict[str, str]:
    found = json_of(value, "metadata") if isinstance(value, str) else value
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise BrokenValueError("metadata must be an object with text values")
    return {_text(name, "metadata"): _text(said, f"metadata {name!r}") for name, said in found.items()}


def _text(value: Any, what: str) -> str:
    if not isinstance(value, str):
        raise BrokenValueError(f"{what} must be text, but is {'null' if value is None else type(value).__name__}")
    try:
        value.encode()
    except UnicodeEncodeError as e:
        raise BrokenValueError(f"{what} must be valid UTF-8") from e
    return value


def _time(value: Any) -> datetime:
    """Parse a time. PostgreSQL returns ISO format in UTC; a time without a zone counts as UTC."""
    try:
        found = datetime.fromisoformat(_text(value, "creation_date"))
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError) as e:
        raise BrokenValueError(f"creation_date {value!r} is not a time in ISO 8601 in the years 1 to 9999") from e


def _name(rule: Callable[[str], T], value: Any, what: str) -> T:
    return _obeyed(lambda: rule(_text(value, what)))


def _obeyed(check: Callable[[], T]) -> T:
    try:
        return check()
    except InvalidInput as e:
        raise BrokenValueError(e.message) from e
