"""Repository whose migration is started or continued, and the functions of the engine for it. Needs no extra."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId, RepositoryId
from graveler_core.records.access import Held


@dataclass(frozen=True, slots=True)
class BegunRepository:
    """Properties of a repository whose migration is to be started or continued."""

    id: RepositoryId
    storage_namespace: str
    default_branch: BranchId
    creation_date: datetime
    digest: str
    """Digest of the source, 64 hexadecimal digits."""
    adopt: bool = False
    """True to take the namespace over from repositories of other stores."""

    @property
    def boundary_seed(self) -> int:
        """Seed of its trees. It depends only on the source, so that a repetition gives the same ids."""
        return int(self.digest[:16], 16)


@dataclass(frozen=True, slots=True)
class RepositoryFlows:
    """Functions of the engine that start and end the migration of a repository."""

    begin: Callable[[BegunRepository], Held[RepositoryRecord]]
    leave: Callable[[RepositoryRecord], None]
    """Called with a repository that may have been deleted during its migration."""
