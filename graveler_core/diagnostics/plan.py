"""Options of archives and examinations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graveler_core.diagnostics.budget import SECONDS
from graveler_core.model.names import repository_id


@dataclass(frozen=True, slots=True)
class DiagnosticsPlan:
    """Options of an archive."""

    budget: float = SECONDS
    """Time budget in seconds."""
    repository: str | None = None
    """Include only this repository."""
    user_data: bool = False
    """Include user data: messages and committers of heads, and prefixes that were removed or restored."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """Configuration of the process, without secrets."""
    most_repositories: int = 1_000
    most_branches: int = 1_000
    """Maximum number for each repository."""
    most_counted: int = 100_000
    """Maximum number of branches, tags or commits that are counted."""

    def __post_init__(self) -> None:
        if self.repository is not None:
            repository_id(self.repository)


@dataclass(frozen=True, slots=True)
class DoctorPlan:
    """Options of an examination."""

    budget: float = SECONDS
    """Time budget in seconds."""
    repository: str | None = None
    """Examine only this repository, and the store."""
    deep: bool = False
    """Check all data (`gc.fsck`), and compare counters with the staged records."""

    def __post_init__(self) -> None:
        if self.repository is not None:
            repository_id(self.repository)
