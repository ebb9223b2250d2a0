"""Commits as people see them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit


@dataclass(frozen=True, slots=True)
class CommitRecord:
    """A commit: its id and what its author said of it."""

    id: CommitId
    message: str
    committer: str
    creation_date: datetime
    parents: tuple[CommitId, ...]
    metadata: Mapping[str, str]
    generation: int


def commit_record(commit: StoredCommit) -> CommitRecord:
    """A stored commit as people see it."""
    header = commit.header
    return CommitRecord(
        id=commit.id,
        message=header.message,
        committer=header.committer,
        creation_date=header.creation_date,
        parents=header.parents,
        metadata=header.metadata,
        generation=header.generation,
    )
