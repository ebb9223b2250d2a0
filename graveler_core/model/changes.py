"""What differs between two states of a branch, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

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


@dataclass(frozen=True, slots=True)
class StagedRecord:
    """What is staged at one path: an entry, or None for a tombstone."""

    path: str
    entry: Entry | None


class MergeStrategy(StrEnum):
    """Who wins where both sides changed a path; without a strategy such paths are conflicts."""

    SOURCE = "source"
    DESTINATION = "destination"


Resolved: TypeAlias = MergeStrategy | Literal["source", "destination"] | Entry | None
"""What a path becomes in a merge: what a side holds, by the side's name; this entry; or None: it is removed."""


class MergeConflictKind(StrEnum):
    """How two sides disagree about a path."""

    BOTH_ADDED = "added in both"
    BOTH_CHANGED = "changed in both"
    REMOVED_IN_SOURCE = "removed in source"
    REMOVED_IN_DESTINATION = "removed in destination"


@dataclass(frozen=True, slots=True)
class MergeConflict:
    """A path that source and destination changed differently since their merge base; None where a side has no entry."""

    path: str
    base: Entry | None
    source: Entry | None
    destination: Entry | None

    @property
    def kind(self) -> MergeConflictKind:
        """How they disagree; where one removed the path, the other changed it."""
        if self.source is None:
            return MergeConflictKind.REMOVED_IN_SOURCE
        if self.destination is None:
            return MergeConflictKind.REMOVED_IN_DESTINATION
        return MergeConflictKind.BOTH_ADDED if self.base is None else MergeConflictKind.BOTH_CHANGED
