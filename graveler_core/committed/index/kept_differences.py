"""Differences between two indexes, kept decoded in memory: who asks again what is uncommitted on a compacted branch
reads no node, range or run.

A page says: from a key on, and before another one, the indexes differ at exactly these keys. Both are immutable and
named by what they hold: a metarange and a run by the hash of their content, an inline index by itself. So what a page
says is a function of the name it is kept under, in whatever repository; a branch that moves on asks under another name.
Nothing is ever out of date, and nothing has to be thrown away but for room. As with all that is kept of commits, it
is no evidence that a store still holds what it was computed from.

A page is kept when it is taken, so who looks at the beginning alone keeps only that; a page is small, and the cache is
bounded in bytes: differences that are many push out each other.
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
"""As many as readers take at once, so that they find again where they go on."""
_PAGE_BYTES = 1_000
"""What a page takes in memory besides its rows."""


@dataclass(frozen=True, slots=True)
class _Page:
    """Differences in a row, and the key from which on there may be more; None: there are none."""

    found: Differences | None
    following: bytes | None


@dataclass(frozen=True, slots=True)
class KeptDifferences:
    """Where the indexes are read, and where pages are kept."""

    indexes: Indexes
    cache: TreeCache

    def between(
        self, left: Index, right: Index, *, start: bytes = b"", end: bytes | None = None
    ) -> Iterator[Differences]:
        """`diff`, from memory as far as it was asked for before."""
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
    """Differences in parts, each of which holds no other part in memory."""
    if len(found) <= PAGE_ROWS:
        yield found
        return
    for first in range(0, len(found), PAGE_ROWS):
        rows = pa.array(np.arange(first, min(first + PAGE_ROWS, len(found))))
        yield Differences(found.keys.take(rows), found.before.take(rows), found.after.take(rows))
