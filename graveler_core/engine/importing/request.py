"""What a caller says about an import, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from graveler_core.engine.draft import Draft
from graveler_core.engine.importing.sources import SHOWN, Source
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.changes import ChangeSummary
from graveler_core.model.ids import BranchId
from graveler_core.model.importing import ImportMode, InvalidKey
from graveler_core.model.names import path_key
from graveler_core.objects.commits import StoredCommit

Progress: TypeAlias = Callable[[int], object]
"""Told how many more objects were listed."""


@dataclass(frozen=True, slots=True)
class ImportRequest:
    """What to import, and where to."""

    source: Source
    into: BranchId
    destination: str = ""
    """The directory that paths lie in; "" for the top."""
    mode: ImportMode = ImportMode.ADD
    include: tuple[str, ...] = ()
    """Globs over keys (`*` and `?` stay within a name, `**` does not): one of them must match, if there are any."""
    exclude: tuple[str, ...] = ()
    """Globs of which none may match."""
    skip_invalid: bool = False
    """Leave out keys that are no valid paths, instead of refusing the import."""
    dry_run: bool = False
    """Count what would change, write nothing."""

    def __post_init__(self) -> None:
        if self.destination.startswith("/") or "//" in self.destination:
            raise InvalidInput(
                f"destination {self.destination!r}: must not begin with '/' or hold '//'",
                kind=Kind.InvalidPath,
                path=self.destination,
            )
        if self.destination:
            path_key(self.destination)

    @property
    def below(self) -> str:
        """What every path begins with."""
        return f"{self.destination.rstrip('/')}/" if self.destination else ""

    def titled(self, draft: Draft) -> Draft:
        """The draft with a message of its own, or one that names the source."""
        return draft if draft.message else replace(draft, message=f"Import {self.source.name} into '{self.below}'")


@dataclass(slots=True)
class Tally:
    """What was met on the way."""

    objects: int = 0
    """Objects taken."""
    size: int = 0
    """Bytes of them."""
    markers: int = 0
    """Empty objects left out for they only mark a directory."""
    unmatched: int = 0
    """Objects left out by the globs."""
    invalid: int = 0
    """Objects whose keys are no valid paths."""
    examples: tuple[InvalidKey, ...] = ()
    """The first hundred of those."""

    @property
    def met(self) -> int:
        """Objects that were listed."""
        return self.objects + self.markers + self.unmatched + self.invalid

    def add(self, other: Tally) -> None:
        """Add what was met behind it."""
        self.objects += other.objects
        self.size += other.size
        self.markers += other.markers
        self.unmatched += other.unmatched
        self.invalid += other.invalid
        self.examples = (self.examples + other.examples)[:SHOWN]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an import did, or would do."""

    commit: StoredCommit | None
    """None for a dry run."""
    changes: ChangeSummary | None = None
    """None where the commit was made by an earlier call under the same idempotency key; so is `tally`."""
    tally: Tally | None = None
