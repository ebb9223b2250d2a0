"""Pages of servers that limit an answer to a number of rows, not to a size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from graveler_core.kv.paging import PAGE_BYTES, KeyBounds, RowPage

FIRST_ROWS: Final = 40
"""Number of rows of the first request of a page. This number of the largest rows is about as large as a page."""
_GROWTH: Final = 4
"""Factor by which the next request of a page may be larger."""
MOST_ROWS: Final = 1_000
"""Maximum number of rows of a request. Rows of the largest size may follow many small ones."""


def growing_page(read: Callable[[KeyBounds, int], RowPage], keys: KeyBounds, rows: int) -> RowPage:
    """Read a page by requests whose number of rows follows from the size of the rows before.

    Args:
        read: Function that sends one request for a key range and a number of rows.
        keys: The keys to read.
        rows: Maximum number of rows of the page.
    """
    found: list[bytes] = []
    values: list[bytes] = []
    size, wanted = 0, FIRST_ROWS
    while True:
        answer = read(keys, min(wanted, rows - len(found)))
        found += answer.keys
        values += answer.values
        size += sum(map(len, answer.values))
        if answer.last or len(found) >= rows or size >= PAGE_BYTES:
            return RowPage(found, values, last=answer.last)
        keys = keys.after(found[-1])
        fitting = (PAGE_BYTES - size) * len(found) // max(size, 1)
        wanted = max(min(wanted * _GROWTH, fitting, MOST_ROWS), 1)
