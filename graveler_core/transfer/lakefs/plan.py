"""Options of a migration from lakeFS, and the functions of the engine that it calls. Importing it needs no extra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import pyarrow as pa

from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId, CommitId, RepositoryId, TagId
from graveler_core.records.access import Held


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


@dataclass(frozen=True, slots=True)
class BegunRepository:
    """Properties of a repository whose migration is to be started or continued."""

    plan: LakefsPlan
    default_branch: BranchId
    creation_date: datetime
    digest: str

    @property
    def boundary_seed(self) -> int:
        """Seed of its trees. It depends only on the source, so that a repetition gives the same ids."""
        return int(self.digest[:16], 16)


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

    begin: Callable[[BegunRepository], Held[Repository]]
    leave: Callable[[Repository], None]
    """Called with a repository that may have been deleted during its migration."""
    references: ReferenceFlows
