"""What is to be looked at, and for how long."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graveler_core.diagnostics.budget import SECONDS
from graveler_core.model.names import repository_id


@dataclass(frozen=True, slots=True)
class DiagnosticsPlan:
    """What an archive holds."""

    budget: float = SECONDS
    """Seconds for everything."""
    repository: str | None = None
    """Only this one."""
    user_data: bool = False
    """Also what users wrote: messages and committers of heads, prefixes that were removed or restored."""
    settings: Mapping[str, object] = field(default_factory=dict)
    """What the process was set up with, without secrets."""
    most_repositories: int = 1_000
    most_branches: int = 1_000
    """Of each repository."""
    most_counted: int = 100_000
    """Counting ends at so many branches, tags or commits."""

    def __post_init__(self) -> None:
        if self.repository is not None:
            repository_id(self.repository)


@dataclass(frozen=True, slots=True)
class DoctorPlan:
    """What the doctor looks at."""

    budget: float = SECONDS
    """Seconds for everything."""
    repository: str | None = None
    """Only this one, and the store."""
    deep: bool = False
    """Check all that is stored (`gc.fsck`), and counters against what is staged."""

    def __post_init__(self) -> None:
        if self.repository is not None:
            repository_id(self.repository)
