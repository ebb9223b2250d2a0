"""Context that every function on layered indexes takes, and the sizes at which an index changes its shape."""

from __future__ import annotations

from dataclasses import dataclass, field

from graveler_core.committed.trees import Trees
from graveler_core.errors import InvalidInput
from graveler_core.objects.objects import Objects


@dataclass(frozen=True, slots=True)
class Sizes:
    """Size limits. They are not part of a format: commits made with other sizes read the same, and have the same
    ids.
    """

    inline_bytes: int = 8 << 10
    """Maximum size of an inline index: keys and records, in bytes. Further elements become a run."""
    object_bytes: int = 64 << 10
    """Maximum size of a run in the key-value store: keys and records, in bytes. A larger run is stored as a blob."""
    fan_out: int = 8
    """Number of neighbouring runs of similar size that are merged into one."""
    fold_elements: int = 4_096
    """Minimum number of elements above the metarange before they are folded into it."""
    fold_share: int = 10
    """Divisor of the fold threshold: layers are folded when they have more elements than the entries of the metarange
    divided by this number.
    """
    fold_most: int = 1_000_000
    """Maximum number of elements above the metarange, because folding reads them into memory."""
    fold_at_once: int = 4
    """Factor of the fold threshold at which a commit folds the layers itself. Normally index maintenance folds them
    earlier.
    """
    direct_share: int = 8
    """A commit that changes more than one in this number of entries changes the metarange directly."""
    small_elements: int = 500
    """Maximum number of changes with which a commit never changes the metarange directly."""
    held_changes: int = 100_000
    """Maximum number of changes that are held in memory. A larger commit always changes the metarange directly."""
    held_bytes: int = 64 << 20
    """Maximum size of these changes in memory, in bytes. A larger run would not fit into the cache of trees, so each
    lookup would read it again.
    """

    few_keys: int = 16
    """Maximum number of keys that are looked up one by one. More keys are looked up by columns."""

    def __post_init__(self) -> None:
        if self.inline_bytes < 1 or self.fan_out < 2:
            raise InvalidInput(f"{self}: inline_bytes must be at least 1, fan_out at least 2")

    def direct_beyond(self, entries: int) -> int:
        """Return the maximum number of changes that a commit stores outside a metarange of `entries` entries."""
        return min(max(entries // self.direct_share, self.small_elements), self.held_changes)

    def fold_beyond(self, entries: int) -> int:
        """Return the approximate number of elements above a metarange of `entries` entries at which they are folded."""
        return min(max(entries // self.fold_share, self.fold_elements), self.fold_most)


@dataclass(frozen=True)
class Indexes:
    """Layered indexes of one repository."""

    trees: Trees
    objects: Objects
    """Store of small runs."""
    sizes: Sizes = field(default_factory=Sizes)
