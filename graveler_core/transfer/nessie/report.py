"""Options and results of imports and exports. Importing it needs no extra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graveler_core.model.ids import RepositoryId


@dataclass(frozen=True, slots=True)
class NessiePlan:
    """Options of an import."""

    repository: RepositoryId
    """Name of the new repository."""
    storage_namespace: str
    default_branch: str | None = None
    """Name in Nessie of the default branch, if it is not the one that the export names."""
    dry_run: bool = False
    incomplete: bool = False
    """True if the repository is left without indexes, to be completed later."""
    adopt: bool = False
    """True to take the namespace of a new repository over from repositories of other stores."""


@dataclass(frozen=True, slots=True)
class NessieMigrated:
    """Result of an import."""

    repository: str
    version: int
    """Version of the export: 1, 2 or 3."""
    commits: int
    """Number of commits that this run wrote, or would write in a dry run."""
    earlier_commits: int
    """Number of commits that interrupted runs wrote."""
    branches: tuple[str, ...]
    tags: tuple[str, ...]
    renamed: Mapping[str, str] = field(default_factory=dict)
    """New names of the branches and tags whose names graveler does not allow, by their names in Nessie."""
    skipped_objects: int = 0
    """Number of other objects in the export, which only Nessie can use."""
    dry_run: bool = False
    incomplete: bool = False
    """True if the repository must be completed before it can be used."""


@dataclass(frozen=True, slots=True)
class NessieExported:
    """Result of an export."""

    uri: str
    branches: int
    tags: int
    commits: int
    operations: int
