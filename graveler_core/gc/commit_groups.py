"""Groups of commits, by the importance of the objects that their entries name."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from enum import IntEnum

from graveler_core.model.ids import CommitId


class NamedBy(IntEnum):
    """Kind of the most important thing that names an object. The largest value counts."""

    NOTHING = 0
    EXPIRING = 1
    """Only commits whose content is about to expire."""
    HISTORY = 2
    """Commits that are neither heads nor tags."""
    LIVE = 3
    """A branch, with its staged changes and its head, or a tag."""


@dataclass(frozen=True, slots=True)
class CommitGroups:
    """Commits that a walk treats in a special way. All others are history."""

    live: Set[CommitId] = frozenset()
    """Heads of branches, and commits of tags."""
    expiring: Set[CommitId] = frozenset()
    """Commits whose content is about to expire."""
    expired: Set[CommitId] = frozenset()
    """Commits that are left out."""


NO_GROUPS = CommitGroups()
