"""Pages of a scan in MySQL and MariaDB, which end when their values are large enough.

The server cannot limit a result by its size without reading the values of all rows that the limit on rows admits. So a
page is read row by row as it arrives, and ends when it is large enough. The connection is then given up, because the
rest of the result would have to be read first. The next page asks for about as many rows as this one had, so that a
scan of large rows gives up few connections.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, Final

from pymysql.cursors import SSCursor

from graveler_core.kv.backends.mysql import statements as sql
from graveler_core.kv.paging import PAGE_BYTES, KeyBounds, RowPage

_FETCH_ROWS: Final = 40
"""Number of rows between two checks of the page size. A page can exceed its size by at most 40 values of 96 KiB."""


@dataclass(frozen=True, slots=True)
class PartOfResult:
    """Rows of a result: all of them, or those until their values had the size of a page."""

    rows: list[Any]
    whole: bool
    """True if the result has no more rows."""
    abandoned: bool
    """True if the rest was not read, so that the connection cannot be used again."""


ReadRows = Callable[[str, Sequence[Any]], PartOfResult]
"""Function that runs a statement with `read_rows`."""


class PageReader:
    """Reader of the pages of one scan."""

    def __init__(self, partition: bytes, read: ReadRows) -> None:
        self._partition = partition
        self._read = read
        self._fitting: int | None = None
        """Number of rows of the last page, if its values were large."""

    def page(self, keys: KeyBounds, rows: int) -> RowPage:
        """Read a page, as `PagedStore._page` specifies."""
        wanted = rows if self._fitting is None else min(rows, self._fitting)
        if keys.upper is None:
            part = self._read(sql.SCAN_FROM, (self._partition, keys.lower, wanted))
        else:
            part = self._read(sql.SCAN, (self._partition, keys.lower, keys.upper, wanted))
        values = list(map(itemgetter(1), part.rows))
        self._fitting = len(values) if sum(map(len, values)) >= PAGE_BYTES else None
        return RowPage(list(map(itemgetter(0), part.rows)), values, last=part.whole and len(values) < wanted)


def read_rows(cursor: SSCursor, statement: str, parameters: Sequence[Any]) -> PartOfResult:
    """Run a statement that returns keys and values, and read its rows until their values have the size of a page.

    Args:
        cursor: Cursor that does not buffer its result.
        statement: The statement.
        parameters: Its parameters. The last one is the maximum number of rows.
    """
    try:
        return _read(cursor, statement, parameters)
    except BaseException:
        _abandon(cursor)
        raise


def _read(cursor: SSCursor, statement: str, parameters: Sequence[Any]) -> PartOfResult:
    cursor.execute(statement, parameters)
    found: list[Any] = []
    size = 0
    while chunk := cursor.fetchmany(_FETCH_ROWS):
        found += chunk
        size += sum(len(value) for _, value in chunk)
        if size >= PAGE_BYTES:
            # The cursor reads a short rest when it is closed.
            short = parameters[-1] - len(found) <= _FETCH_ROWS
            if not short:
                _abandon(cursor)
            return PartOfResult(found, whole=False, abandoned=not short)
    return PartOfResult(found, whole=True, abandoned=False)


def _abandon(cursor: Any) -> None:
    """Make the cursor forget its result, which it would read to the end when it is closed."""
    result, cursor._result = cursor._result, None
    if result is not None:
        result.unbuffered_active, result.connection = False, None
