"""How a scan is cut: the interval of keys it covers, and the pages in which it is read.

Every backend reads a scan page by page through `pages`, so that no statement or transaction stays open while the caller
works on the rows: an open one would pin a snapshot and let later reads on its connection see the past.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from graveler_core.errors import InvalidInput

PAGE_ROWS: Final = 10_000
"""Rows of a page at most."""
FIRST_PAGE_ROWS: Final = 1_000
"""Rows of a scan's first page at most: many scans are left after a few rows."""
PAGE_BYTES: Final = 4 * 1_024 * 1_024
"""A page ends with the row that reaches this many bytes of values."""
CHUNK_ROWS: Final = 5_000
"""Rows that one transaction of a bulk write removes or loads at most: more would hold the writer lock of an embedded
store too long (one statement over 400,000 rows: 0.3 s)."""


@dataclass(frozen=True, slots=True)
class Interval:
    """Keys from `lower` on (inclusive) up to `upper` (exclusive; None: to the end)."""

    lower: bytes
    upper: bytes | None

    def after(self, key: bytes) -> Interval:
        """What is left of the interval past `key`."""
        return Interval(key + b"\x00", self.upper)

    def is_empty(self) -> bool:
        """Whether no key can lie in it."""
        return self.upper is not None and self.upper <= self.lower


@dataclass(frozen=True, slots=True)
class Page:
    """Rows in key order, as columns, and whether they reach the end of what was asked for.

    Columns, because what reads many rows wants columns, and a tuple for each row costs as much as reading it.
    """

    keys: Sequence[bytes]
    values: Sequence[bytes]
    last: bool


def interval(prefix: bytes, start: bytes, end: bytes | None) -> Interval:
    """The keys that start with `prefix` and lie in [start, end)."""
    above = successor(prefix)
    uppers = [bound for bound in (above, end) if bound is not None]
    return Interval(max(prefix, start), min(uppers, default=None))


def successor(prefix: bytes) -> bytes | None:
    """The smallest byte string above all that start with `prefix`, or None if there is none (b"", b"\\xff\\xff")."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_limit(limit: int | None) -> None:
    """Raises InvalidInput for a negative limit."""
    if limit is not None and limit < 0:
        raise InvalidInput(f"the limit of a scan is {limit}; it must be 0 or more, or None")


def pages(read: Callable[[Interval, int], Page], keys: Interval, limit: int | None, first: int) -> Iterator[Page]:
    """Reads the interval page by page, each by one call of `read(interval, rows)`; yields no empty page.

    Args:
        read: Reads up to so many rows from the beginning of the interval; may stop earlier at PAGE_BYTES.
        keys: The keys to read.
        limit: Rows in all, or None.
        first: Rows of the first page at most.
    """
    left, size = limit, first
    while not keys.is_empty() and left != 0:
        wanted = size if left is None else min(size, left)
        page = read(keys, wanted)
        if page.keys:
            yield page
        if page.last:
            return
        keys = keys.after(page.keys[-1])
        left = None if left is None else left - len(page.keys)
        size = PAGE_ROWS


def split_rows(rows: int, pieces: int) -> list[int]:
    """Row numbers at which pieces of about equal size begin, the first piece's left out; fewer where rows are few."""
    return sorted({rows * piece // pieces for piece in range(1, pieces)} - {0, rows})
