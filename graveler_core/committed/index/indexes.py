"""What every function on layered indexes takes, and the sizes at which an index changes its shape."""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.committed.trees import Trees
from graveler_core.objects.objects import Objects


@dataclass(frozen=True, slots=True)
class Sizes:
    """No part of a format: commits made under others read the same, and have the same ids."""

    inline_bytes: int = 8 << 10
    """Keys and records of an inline index; what is beyond becomes a run."""
    object_bytes: int = 64 << 10
    """Keys and records of a run that is kept in the key-value store; a larger one is a blob."""
    fan_out: int = 8
    """So many neighbouring runs of about one size become one."""
    fold_elements: int = 4_096
    """The layers above the metarange hold at least so many elements before they are folded into it,"""
    fold_share: int = 10
    """and one for so many entries of it,"""
    fold_most: int = 1_000_000
    """or so many: they are read into memory."""
    fold_at_once: int = 4
    """A commit that finds so many times as much folds by itself, before it goes on: whoever should have did not."""
    direct_share: int = 8
    """A commit that changes more than one of so many entries changes the metarange itself."""
    small_elements: int = 500
    """A commit of up to so many changes never does."""
    held_changes: int = 100_000
    """A commit of more changes always does: they are not held in memory."""

    few_keys: int = 16
    """So many keys at most are looked up one by one, more by columns."""

    def direct_beyond(self, entries: int) -> int:
        """How many changes a commit keeps out of the metarange at most."""
        return min(max(entries // self.direct_share, self.small_elements), self.held_changes)

    def fold_beyond(self, entries: int) -> int:
        """How many elements stand above the metarange at most, about."""
        return min(max(entries // self.fold_share, self.fold_elements), self.fold_most)


@dataclass(frozen=True)
class Indexes:
    """The layered indexes of one repository."""

    trees: Trees
    objects: Objects
    """Where small runs are kept."""
    sizes: Sizes = field(default_factory=Sizes)
