"""Listings as lazy items, from any source of pages: a branch, checked page by page, or the tree of a commit.

With a delimiter, all paths that are equal up to the delimiter are one `CommonPrefix`, and the next page begins after
it. The paths inside are skipped by seeking and are not read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, takewhile

import pyarrow as pa

from graveler_core.codec.entry import entries
from graveler_core.errors import InvalidInput
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.entry import CommonPrefix, Entry
from graveler_core.model.key_intervals import prefix_end
from graveler_core.model.names import prefix_key
from graveler_core.segments.sorted_keys import KEY, lower_bound

PAGE_ROWS = 1_000
_TOGETHER = 128
"""Number of entries between two groups that are converted at once. One by one, each takes ten times as long."""
PageSource = Callable[[tuple[bytes, bytes | None], int], pa.Table]
"""Function that returns the first entries of a key interval, at most the given number. It returns fewer only at the end
of the interval.
"""


@dataclass(frozen=True, slots=True)
class CommittedPages:
    """Pages of a commit."""

    version: str
    """Name of the commit, unique in the store."""
    first: PageSource
    """Reads the first page."""
    later: PageSource
    """Reads further pages, each after a check that the repository still exists."""


Beginning = Callable[[tuple[bytes, bytes | None], int], CommittedPages | pa.Table]
"""Function with the arguments of a `PageSource`. It returns a commit that has the same entries in the interval, or the
first page.
"""


@dataclass(frozen=True, slots=True)
class Window:
    """Query for a listing: paths within bounds, grouped at `delimiter`.

    A group is listed if it contains a path within the bounds. If `after` is its common prefix, it is not listed,
    because an earlier part of the listing ended with it.
    """

    within: Bounds = ALL
    delimiter: str = ""
    page: int = PAGE_ROWS

    def group(self, path: bytes) -> bytes | None:
        """Return the common prefix that a path belongs to, or `None`."""
        prefix, delimiter = prefix_key(self.within.prefix), self.delimiter.encode()
        at = path.find(delimiter, len(prefix)) if delimiter and path.startswith(prefix) else -1
        return path[: at + len(delimiter)] if at >= 0 else None

    def span(self) -> tuple[bytes, bytes | None]:
        """Return the key interval to read: the bounds, but after all paths of the group if `after` is a common prefix.
        It is empty if no path is within them.
        """
        start, end = self.within.interval()
        after = prefix_key(self.within.after)
        if after and self.group(after) == after:
            start = max(start, _behind(after))
        return start if end is None else min(start, end), end


class ItemReader:
    """Reader of the items of a window, which reads them once. By default, its pages come from the source. If `version`
    is called before the first item is read, they come from a commit, if the window shows one unchanged.
    """

    def __init__(self, source: PageSource, begin: Beginning, window: Window) -> None:
        self._source, self._begin, self._window = source, begin, window
        self._items: Iterator[Entry | CommonPrefix] | None = None
        self._version: str | None = None

    def read(self) -> Iterator[Entry | CommonPrefix]:
        """Return a lazy iterator over the entries and common prefixes, in order of their paths."""
        return chain.from_iterable(self._parts())

    def version(self) -> str | None:
        """Return the name of the commit from which the items come, or `None`. Reads the store."""
        if self._items is None:
            begun = self._begin(self._window.span(), self._window.page)
            if isinstance(begun, CommittedPages):
                self._items = items(_following(begun.first, begun.later), self._window)
                self._version = begun.version
            else:
                self._items = items(_following(lambda *_: begun, self._source), self._window)
        return self._version

    def _parts(self) -> Iterator[Iterator[Entry | CommonPrefix]]:
        if self._items is None:
            self._items = items(self._source, self._window)
        yield self._items


def items(source: PageSource, window: Window) -> Iterator[Entry | CommonPrefix]:
    """Return a lazy iterator over the entries and common prefixes of a window, in order of their paths. An empty window
    is read, too, because the source may have to report that there is no such branch.
    """
    if window.delimiter:
        return _groups(source, window)
    return chain.from_iterable(map(entries, tables(source, window)))


def tables(source: PageSource, window: Window) -> Iterator[pa.Table]:
    """Yield the entries of a window without a delimiter, as tables in `ENTRY_SCHEMA`. An empty window is read, too."""
    start, end = window.span()
    while True:
        page = source((start, end), window.page)
        if page.num_rows:
            yield page
            start = _behind_last(page)
        if page.num_rows < window.page or (end is not None and start >= end):
            return


def _following(first: PageSource, later: PageSource) -> PageSource:
    """Return a source that reads the first page from one source, and all later pages from another one."""
    sources = iter((first,))

    def page(span: tuple[bytes, bytes | None], rows: int) -> pa.Table:
        return next(sources, later)(span, rows)

    return page


def _groups(source: PageSource, window: Window) -> Iterator[Entry | CommonPrefix]:
    start, end = window.span()
    while True:
        page = source((start, end), window.page)
        start = _behind_last(page)
        for item, behind in _grouped(page, window):
            yield item
            start = max(start, behind)
        if page.num_rows < window.page or (end is not None and start >= end):
            return


def _grouped(page: pa.Table, window: Window) -> Iterator[tuple[Entry | CommonPrefix, bytes]]:
    """Yield the items of a page, each with the first key after it."""
    keys = page.column(KEY)
    row = 0
    while row < page.num_rows:
        group = window.group(keys[row].as_py())
        if group is not None:
            yield CommonPrefix(group.decode()), _behind(group)
            row = lower_bound(keys, _behind(group))
            continue
        following = keys.slice(row, _TOGETHER).to_pylist()
        single = list(takewhile(lambda path: window.group(path) is None, following))
        yield from zip(entries(page.slice(row, len(single))), (path + b"\0" for path in single), strict=True)
        row += len(single)


def _behind(group: bytes) -> bytes:
    end = prefix_end(group)
    if end is None:
        raise InvalidInput(f"delimiter: no path can follow {group!r}")
    return end


def _behind_last(page: pa.Table) -> bytes:
    return page.column(KEY)[-1].as_py() + b"\0" if page.num_rows else b""
