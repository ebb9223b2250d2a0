"""Options of a migration from lakeFS, and the functions of the engine that it calls. Importing it needs no extra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa

from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.transfer.begun import RepositoryFlows


@dataclass(frozen=True, slots=True)
class LakefsPlan:
    """Options of a migration."""

    repository: RepositoryId
    """Name of the repository in the store."""
    storage_namespace: str
    """Storage namespace of a new repository."""
    default_branch: str | None = None
    uncommitted: bool = False
    """True to stage uncommitted changes, too."""
    dry_run: bool = False
    adopt: bool = False
    """True to take the namespace of a new repository over from repositories of other stores."""


@dataclass(frozen=True, slots=True)
class ReferenceFlows:
    """Flows of the engine that change branches and tags as users do."""

    create_branch: Callable[[RepositoryId, BranchId, CommitId], object]
    move_branch: Callable[[RepositoryId, BranchId, CommitId, CommitId], object]
    """Called with the commit to move to, and the commit that the branch is expected to name."""
    create_tag: Callable[[RepositoryId, TagId, CommitId], object]
    move_tag: Callable[[RepositoryId, TagId, CommitId, CommitId], object]
    stage: Callable[[RepositoryId, BranchId, pa.Table], object]


@dataclass(frozen=True, slots=True)
class LakefsFlows:
    """Functions of the engine that a migration needs."""

    repositories: RepositoryFlows
    references: ReferenceFlows
