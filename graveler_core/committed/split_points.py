"""Partitions of the work on a tree, and the split points between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class SplitPoint:
    """Key at which two partitions meet."""

    key: bytes
    """Last key of the left partition, or a key without an entry, before which the left partition ends."""
    closed: bool = False
    """True if the key is a primary boundary key in the result of the changes. Then the left partition ends a range and
    the right one begins a range, so that the right one does not depend on the left one's open entries.
    """


@dataclass(frozen=True, slots=True)
class Partition:
    """Key interval after one split point, up to and including another; `None`: from the first key, or to the last."""

    after: SplitPoint | None = None
    through: SplitPoint | None = None

    @property
    def start(self) -> bytes:
        """Smallest key that may be in the partition."""
        return b"" if self.after is None else self.after.key + b"\0"

    @property
    def end(self) -> bytes | None:
        """Smallest key after the partition; `None` if there is none."""
        return None if self.through is None else self.through.key + b"\0"

    @property
    def begins_a_range(self) -> bool:
        """True if the entries before the partition are closed."""
        return self.after is None or self.after.closed


WHOLE = Partition()


def partitions_between(split_points: Sequence[SplitPoint]) -> list[Partition]:
    """Return partitions of all keys, split at ascending split points."""
    return [Partition(left, right) for left, right in pairwise((None, *split_points, None))]
