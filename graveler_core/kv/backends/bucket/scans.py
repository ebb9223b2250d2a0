"""Scans of a store in a bucket: names are listed first, and only the objects of the wanted rows are read.

A listing has the names and the sizes of objects, so bounds, limits, tombstones and the sizes of pages cost no read. One
listing goes through the whole scan. An object that is deleted or replaced between its listing and its read is skipped,
or read as it is then.

Rows whose keys agree in their first 400 bytes are not listed in order. They are read in one page, however many there
are, and sorted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from graveler_core.kv.backends.bucket.names import RowName, RowNames, row_of, wrong_row
from graveler_core.kv.backends.bucket.requests import THREADS, BucketRequests
from graveler_core.kv.paging import PAGE_BYTES, KeyBounds
from graveler_core.kv.store import KeyValue, Predicate

PAGE_ROWS: Final = 1_000
"""Maximum number of rows of a page."""
FIRST_ROWS: Final = THREADS
"""Number of rows of the first page of a scan: those that are read at once."""
_GROWTH: Final = 4
"""Factor by which the next page of a scan may have more rows."""

Listed = tuple[RowName, str, int]
"""Key of a listed object, its name, and its size."""


class BucketScans:
    """Scans of one store.

    Args:
        requests: Requests to the bucket.
        names: Names of the objects.
    """

    def __init__(self, requests: BucketRequests, names: RowNames) -> None:
        self._requests = requests
        self._names = names

    def listed(self, partition: bytes, keys: KeyBounds) -> Iterator[Listed]:
        """Yield the objects of the rows of a key range, without tombstones, in the order of their names.

        Of the rows whose keys agree with a bound in their first 400 bytes, some may be outside of the range.
        """
        if keys.is_empty():
            return
        after = self._names.before(partition, keys.lower) if keys.lower else None
        for page in self._requests.pages(self._names.partition(partition), after):
            for found in page:
                if not found["size"]:
                    continue
                name = self._names.parsed(found["path"])
                if keys.upper is not None and name.stem >= keys.upper:
                    return
                if not name.is_whole or name.stem >= keys.lower:
                    yield name, found["path"], found["size"]

    def pages(self, partition: bytes, keys: KeyBounds, limit: int | None, first: int) -> Iterator[Sequence[KeyValue]]:
        """Yield the rows of a key range in pages that are not empty.

        Args:
            partition: The partition.
            keys: The key range.
            limit: Maximum number of rows in total, or `None`.
            first: Maximum number of rows of the first page.
        """
        left, size = limit, first
        listed = self.listed(partition, keys)
        more = next(listed, None) if left != 0 else None
        while more is not None and left != 0:
            page, more = _page(more, listed, size if left is None else min(size, left))
            rows = self._rows(page, keys)[:left]
            if rows:
                yield rows
            left = None if left is None else left - len(rows)
            size = min(size * _GROWTH, PAGE_ROWS)

    def _rows(self, page: Sequence[Listed], keys: KeyBounds) -> list[KeyValue]:
        """Read the objects of a page. Return the rows of a key range in order."""
        rows = [row for row in self._requests.each(self._row, page) if row is not None]
        if not all(name.is_whole for name, _, _ in page):
            rows = [row for row in rows if keys.lower <= row.key and (keys.upper is None or row.key < keys.upper)]
            rows.sort(key=lambda row: row.key)
        return rows

    def _row(self, listed: Listed) -> KeyValue | None:
        name, path, _ = listed
        held = self._requests.read(path)
        if held is None or held.is_tombstone:
            return None
        key, value = row_of(held.content, path)
        if (key != name.stem) if name.is_whole else not key.startswith(name.stem):
            raise wrong_row(path)
        return KeyValue(key, value, Predicate(held.tag.encode()))


def _page(first: Listed, others: Iterator[Listed], rows: int) -> tuple[list[Listed], Listed | None]:
    """Return the objects of a page that begins with `first`, and the first object of the next page.

    Objects of keys that agree in their first 400 bytes are in the same page.
    """
    page, size = [first], first[2]
    for listed in others:
        name = listed[0]
        apart = name.is_whole or name.stem != page[-1][0].stem or page[-1][0].is_whole
        if apart and (len(page) >= rows or size >= PAGE_BYTES):
            return page, listed
        page.append(listed)
        size += listed[2]
    return page, None
