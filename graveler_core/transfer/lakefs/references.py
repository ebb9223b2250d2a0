"""Branches, tags and commits of a repository of lakeFS, and the dump from which they are read.

`lakectl refs-dump` writes three metaranges into the storage namespace and prints their ids as JSON. Older versions also
write this document to `_lakefs/refs_manifest.json`. The dump contains all commits, also those that no branch reaches.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from google.protobuf.message import DecodeError

from graveler_core.errors import CorruptData, InvalidInput, Kind
from graveler_core.model.ids import BranchId, TagId
from graveler_core.model.names import branch_id, tag_id
from graveler_core.transfer.broken_values import BrokenValueError
from graveler_core.transfer.lakefs.entries import moment
from graveler_core.transfer.lakefs.messages import BranchMessage, CommitMessage, TagMessage
from graveler_core.transfer.lakefs.metaranges import FOLDER, LakefsMetaranges

MANIFEST = f"{FOLDER}refs_manifest.json"
_FIELDS = ("commits_meta_range_id", "branches_meta_range_id", "tags_meta_range_id")
_DEFAULTS = ("main", "master")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RefsManifest:
    """Ids of the metaranges of a dump."""

    commits: str
    branches: str
    tags: str


@dataclass(frozen=True, slots=True)
class LakefsCommit:
    """Commit of lakeFS."""

    id: str
    committer: str
    message: str
    creation_date: datetime
    metarange: str
    """Id of its metarange. Empty for a commit without content."""
    metadata: dict[str, str]
    parents: tuple[str, ...]
    """The first parent is the one that the commit was based on."""
    generation: int
    """Generation in lakeFS. 0 for commits that were made before lakeFS kept it."""


@dataclass(frozen=True, slots=True)
class LakefsReferences:
    """References of a repository of lakeFS."""

    commits: dict[str, LakefsCommit]
    branches: dict[BranchId, str]
    """Commit of each branch. Branches that lakeFS hides are left out."""
    tags: dict[TagId, str]


def parse_manifest(text: bytes, name: str) -> RefsManifest:
    """Parse the document that a dump of references prints.

    Raises:
        InvalidInput: The text is no such document.
    """
    try:
        said = json.loads(text)
        return RefsManifest(*(_checked(said[field]) for field in _FIELDS))
    except (ValueError, KeyError, TypeError, RecursionError) as e:
        raise InvalidInput(
            f"{name} is not a manifest of references: must be a JSON object with the texts {', '.join(_FIELDS)}"
        ) from e


def read_references(metaranges: LakefsMetaranges, manifest: RefsManifest) -> LakefsReferences:
    """Read a dump of references. About 1,000 bytes of memory for each commit.

    Raises:
        CorruptData: A table is missing or damaged, or a reference breaks a rule of graveler.
    """
    commits = {commit.id: commit for commit in _messages(metaranges, manifest.commits, CommitMessage, _commit)}
    branches = dict(found for found in _messages(metaranges, manifest.branches, BranchMessage, _branch) if found)
    tags = dict(_messages(metaranges, manifest.tags, TagMessage, _tag))
    for name, id in [*branches.items(), *tags.items()]:
        if id not in commits:
            raise _broken(f"{name} refers to commit {id}, which is not in the dump")
    return LakefsReferences(commits, branches, tags)


def default_branch(references: LakefsReferences, wanted: str | None) -> BranchId:
    """Return the default branch. A dump does not name it, so it is the requested one, or one with a usual name.

    Raises:
        InvalidInput: There is no such branch, or none of the usual names.
    """
    names = (wanted,) if wanted is not None else _DEFAULTS
    for name in names:
        if name in references.branches:
            return branch_id(name)
    others = f"name one of {', '.join(references.branches)}" if references.branches else "it has none"
    raise InvalidInput(f"default branch: the source has no branch {' or '.join(names)}; {others}")


def _messages(metaranges: LakefsMetaranges, id: str, message: Any, convert: Callable[[Any], T]) -> Iterator[T]:
    for key, data in metaranges.scan(metaranges.ranges(id)):
        try:
            yield convert(message.FromString(data))
        except (DecodeError, BrokenValueError, InvalidInput) as e:
            raise _broken(f"reference {key!r}: {e}") from e


def _commit(said: Any) -> LakefsCommit:
    parents = tuple(said.parents)
    return LakefsCommit(
        id=said.id,
        committer=said.committer,
        message=said.message,
        creation_date=moment(said.creation_date, "creation_date"),
        metarange=said.meta_range_id,
        metadata=dict(said.metadata),
        # Before version 1, a merge listed the source first and the destination last.
        parents=parents if said.version else parents[::-1],
        generation=max(said.generation, 0),
    )


def _branch(said: Any) -> tuple[BranchId, str] | None:
    return None if said.hidden else (branch_id(said.id), said.commit_id)


def _tag(said: Any) -> tuple[TagId, str]:
    return tag_id(said.id), said.commit_id


def _checked(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("not a text")
    return value


def _broken(why: str) -> CorruptData:
    return CorruptData(f"dump of references of lakeFS: {why}", kind=Kind.CorruptDump)
