"""Key ranges of scans, and paging.

Every backend reads a scan page by page with `pages`, so that no statement or transaction stays open while the caller
processes the rows. An open statement would keep a snapshot, and later reads on its connection would return old values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from graveler_core.errors import InvalidInput

PAGE_ROWS: Final = 10_000
"""Maximum number of rows of a page."""
FIRST_PAGE_ROWS: Final = 1_000
"""Maximum number of rows of the first page of a scan. It is smaller because many callers read only a few rows."""
PAGE_BYTES: Final = 4 * 1_024 * 1_024
"""Maximum size of the values of a page in bytes. A page ends with the row that reaches it."""
CHUNK_ROWS: Final = 5_000
"""Maximum number of rows that one transaction of a bulk write deletes or loads. A longer transaction would hold the
writer lock of an embedded store too long (one statement over 400,000 rows: 0.3 s).
"""


@dataclass(frozen=True, slots=True)
class KeyBounds:
    """Key range from `lower` (inclusive) to `upper` (exclusive; `None` means the end of the partition)."""

    lower: bytes
    upper: bytes | None

    def after(self, key: bytes) -> KeyBounds:
        """Return the keys of this range that are greater than `key`."""
        return KeyBounds(key + b"\x00", self.upper)

    def is_empty(self) -> bool:
        """Return true if no key can be in the range."""
        return self.upper is not None and self.upper <= self.lower


@dataclass(frozen=True, slots=True)
class RowPage:
    """Rows in key order.

    They are stored as columns, because most callers need columns, and creating a tuple costs as much as reading a row.
    """

    keys: Sequence[bytes]
    values: Sequence[bytes]
    last: bool
    """True if the page reaches the end of the requested key range."""


def interval(prefix: bytes, start: bytes, end: bytes | None) -> KeyBounds:
    """Return the range of keys that start with `prefix` and are in [start, end).

    Args:
        prefix: Prefix of all keys.
        start: First key.
        end: Key after the last one, or `None` for all keys from `start` on.

    Returns:
        The range, which may be empty.
    """
    upper = successor(prefix)
    if upper is None or (end is not None and end < upper):
        upper = end
    return KeyBounds(max(prefix, start), upper)


def successor(prefix: bytes) -> bytes | None:
    """Return the smallest byte string that is greater than all strings with the prefix.

    Returns `None` if there is none: for an empty prefix, or one of 0xff bytes only.
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def check_limit(limit: int | None) -> None:
    """Check the limit of a scan.

    Args:
        limit: The limit, or `None` for no limit.

    Raises:
        InvalidInput: The limit is negative.
    """
    if limit is not None and limit < 0:
        raise InvalidInput(f"the limit of a scan is {limit}; it must be 0 or more, or None")


def pages(
    read: Callable[[KeyBounds, int], RowPage], keys: KeyBounds, limit: int | None, first: int
) -> Iterator[RowPage]:
    """Read a key range page by page. Each page takes one call of `read`.

    Args:
        read: Function of a key range and a number of rows. It reads at most this number of rows from the beginning of
            the range, and may stop earlier at `PAGE_BYTES`.
        keys: The keys to read.
        limit: Maximum number of rows in total, or `None`.
        first: Maximum number of rows of the first page.

    Yields:
        Pages that are not empty.
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
    """Return the row numbers that divide `rows` rows into ranges of about equal size.

    There are `pieces` - 1 numbers, or fewer if there are not enough rows.
    """
    return sorted({rows * piece // pieces for piece in range(1, pieces)} - {0, rows})
