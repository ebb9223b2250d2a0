"""What differs between two states of a branch, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from graveler_core.model.entry import Entry


class ChangeKind(StrEnum):
    """What happened to a path."""

    ADDED = "added"
    CHANGED = "changed"
    REMOVED = "removed"


@dataclass(frozen=True, slots=True)
class Change:
    """One path that differs: `before` is None where it was added, `after` where it was removed."""

    path: str
    kind: ChangeKind
    before: Entry | None
    after: Entry | None


@dataclass(frozen=True, slots=True)
class ChangeSummary:
    """How many paths differ between two states."""

    added: int = 0
    changed: int = 0
    removed: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.added + self.changed + self.removed


class MergeStrategy(StrEnum):
    """Who wins where both sides changed a path; without a strategy such paths are conflicts."""

    SOURCE = "source"
    DESTINATION = "destination"


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A path that source and destination changed differently since their merge base."""

    path: str
    base: Entry | None
    source: Entry | None
    destination: Entry | None
