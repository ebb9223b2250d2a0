"""Request of an import, and its outcome."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from graveler_core.engine.committing.draft import Draft
from graveler_core.engine.importing.sources import SHOWN, ImportSource
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.ids import BranchId
from graveler_core.model.importing import ImportMode, InvalidKey
from graveler_core.model.names import new_path_key
from graveler_core.objects.commits import StoredCommit

Progress: TypeAlias = Callable[[int], object]
"""Callback that receives the number of objects that were listed since the last call."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """Objects to import, and their destination."""

    source: ImportSource
    into: BranchId
    destination: str = ""
    """Directory of the imported paths; "" for the top."""
    mode: ImportMode = ImportMode.ADD
    include: tuple[str, ...] = ()
    """Globs over keys. `*` and `?` match within a name, `**` matches across names. If there are any, one of them must
    match.
    """
    exclude: tuple[str, ...] = ()
    """Globs that must not match."""
    skip_invalid: bool = False
    """Skip keys that are not valid paths, instead of refusing the import."""
    dry_run: bool = False
    """Count the changes without writing anything."""

    def __post_init__(self) -> None:
        if self.destination:
            new_path_key(self.destination.removesuffix("/") or "/")

    @property
    def below(self) -> str:
        """Prefix of every path."""
        return f"{self.destination.rstrip('/')}/" if self.destination else ""

    def titled(self, draft: Draft) -> Draft:
        """Return the draft with its own message, or with one that names the source."""
        return draft if draft.message else replace(draft, message=f"Import {self.source.name} into '{self.below}'")


@dataclass(slots=True)
class Tally:
    """Counts of listed objects."""

    objects: int = 0
    """Number of imported objects."""
    size: int = 0
    """Total size of the imported objects, in bytes."""
    markers: int = 0
    """Number of empty objects that were skipped because they only mark a directory."""
    unmatched: int = 0
    """Number of objects that were skipped because of the globs."""
    invalid: int = 0
    """Number of objects whose keys are not valid paths."""
    examples: tuple[InvalidKey, ...] = ()
    """First hundred invalid keys."""

    @property
    def met(self) -> int:
        """Number of objects that were listed."""
        return self.objects + self.markers + self.unmatched + self.invalid

    def add(self, other: Tally) -> None:
        """Add the counts of later objects."""
        self.objects += other.objects
        self.size += other.size
        self.markers += other.markers
        self.unmatched += other.unmatched
        self.invalid += other.invalid
        self.examples = (self.examples + other.examples)[:SHOWN]


@dataclass(frozen=True, slots=True)
class ImportOutcome:
    """Result of an import or of a dry run."""

    commit: StoredCommit | None
    """Commit of the import; `None` for a dry run."""
    changes: ChangeSummary | None = None
    """Changes of the import. `None`, like `tally`, if an earlier call with the same idempotency key made the commit."""
    tally: Tally | None = None
