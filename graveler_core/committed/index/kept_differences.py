"""Cache of decoded differences between two indexes. A repeated request for the uncommitted changes of a compacted
branch reads no node, range or run.

A page states that from one key to before another, the indexes differ at exactly these keys. Both indexes are
immutable and identified by their content: a metarange and a run by the hash of their content, an inline index by its
bytes. So the content of a page is a function of its cache key, in any repository. If a branch changes, other cache
keys are used. Pages are never outdated, and are evicted only for space. As with every cache of commits, a page does
not prove that a store still has the data from which it was computed.

A page is cached when it is read, so a reader that stops early caches only the beginning. Pages are small, and the
cache is bounded in bytes: large differences evict each other.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import Differences
from graveler_core.committed.index.diff import diff
from graveler_core.committed.index.indexes import Indexes
from graveler_core.model.index import Index

PAGE_ROWS = 1_000
"""Rows per page. Readers take the same number at once, so that they continue at a page boundary."""
_PAGE_BYTES = 1_000
"""Memory of a page without its rows, in bytes."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Consecutive differences, and the key from which on there may be more; `None` at the end."""

    found: Differences | None
    following: bytes | None


@dataclass(frozen=True, slots=True)
class KeptDifferences:
    """Reader of differences: the indexes, and the cache of pages."""

    indexes: Indexes
    cache: TreeCache

    def between(
        self, left: Index, right: Index, *, start: bytes = b"", end: bytes | None = None
    ) -> Iterator[Differences]:
        """Yield the differences as `diff` does, from memory as far as they were requested before."""
        at: bytes | None = None if left == right else start
        while at is not None:
            held: _Page | None = self.cache.get((left, right, at, end))
            if held is None:
                yield from self._read(left, right, at, end)
                return
            if held.found is not None:
                yield held.found
            at = held.following

    def _read(self, left: Index, right: Index, at: bytes, end: bytes | None) -> Iterator[Differences]:
        for found in diff(self.indexes, left, right, start=at, end=end):
            for page in _pages(found):
                following = page.keys[-1].as_py() + b"\0"
                size = page.keys.nbytes + page.before.nbytes + page.after.nbytes
                self.cache.put((left, right, at, end), _Page(page, following), size + _PAGE_BYTES)
                yield page
                at = following
        self.cache.put((left, right, at, end), _Page(None, None), _PAGE_BYTES)


def _pages(found: Differences) -> Iterator[Differences]:
    """Split differences into pages that do not share memory."""
    if len(found) <= PAGE_ROWS:
        yield found
        return
    for first in range(0, len(found), PAGE_ROWS):
        rows = pa.array(np.arange(first, min(first + PAGE_ROWS, len(found))))
        yield Differences(found.keys.take(rows), found.before.take(rows), found.after.take(rows))
