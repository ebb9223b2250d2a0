"""Key intervals into which work on a tree is cut, and what is known of where two of them meet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True, slots=True)
class Cut:
    """Where two intervals meet."""

    key: bytes
    """The last key of the left one, or a key that nothing has: then the left one ends before it."""
    closed: bool = False
    """Whether it is a primary boundary key of what the changes make of the base. So the left one ends a range, and the
    right one begins one, and need not wait for what the left one left over."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Keys after one cut, up to another and with it; None: from the first key on, to the last."""

    after: Cut | None = None
    through: Cut | None = None

    @property
    def start(self) -> bytes:
        """The least key that may be in it."""
        return b"" if self.after is None else self.after.key + b"\0"

    @property
    def end(self) -> bytes | None:
        """The least key behind it; None: there is none."""
        return None if self.through is None else self.through.key + b"\0"

    @property
    def begins_a_range(self) -> bool:
        """Whether what stands before it has closed."""
        return self.after is None or self.after.closed


WHOLE = Interval()


def intervals(cuts: Sequence[Cut]) -> list[Interval]:
    """All keys, cut at rising keys."""
    return [Interval(left, right) for left, right in pairwise((None, *cuts, None))]
