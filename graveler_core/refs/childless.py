"""Commits that are not the first parent of any commit: the ends of lines of history. Source: seed 000, `Iterators`.

A commit does not know its children, so all headers must be read before anything is known about the first commit. One
scan collects the ids of first parents within the bounds, up to the `HELD` smallest ones. If there are more, the
collected ids decide about all commits up to the largest collected id, and another scan continues after it. A listing
therefore needs one scan of all headers for each million first parents within the bounds, plus one more scan in all to
yield the result. Memory use is 32 bytes for each collected id, and a few times that while ids are merged, independent
of the size of the repository. Resuming after an id costs as much as the rest of the listing.

Commits that are created during a scan may or may not be included, as results and as children.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

import numpy as np

from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.bounds import ALL, Bounds
from graveler_core.model.entities import Commit, RepositoryRecord
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import scan_headers

HELD = 1_000_000
"""Maximum number of ids of first parents in memory."""
_MERGED = 65_536
"""Number of ids that are collected before they are merged."""
_AT_ONCE = 1_000
_ID = 32
"""Length of an id in bytes. numpy strips trailing zero bytes, which does not change the order."""


def not_first_parents(
    kv: Store, repo: RepositoryRecord, within: Bounds = ALL, *, held: int = HELD
) -> Iterator[tuple[CommitId, Commit]]:
    """Yield commits that are not the first parent of another commit, by id, with their headers.

    Args:
        kv: Key-value store.
        repo: Repository.
        within: Yield only ids within these bounds. All headers are read nevertheless, to find the parents, unless
            the bounds contain nothing.
        held: Number of first parents in memory, at least 1.

    Raises:
        CorruptData: A header cannot be read, or does not match its id.
    """
    while True:
        start, end = within.interval()
        if start == end:
            return
        found = _Smallest(held)
        for id, header in scan_headers(kv, repo):
            for parent in header.parents[:1]:
                if start <= parent.encode() and (end is None or parent.encode() < end):
                    found.add(id, parent)
        found.merge()
        last = found.bound
        rows = scan_headers(kv, repo, within)
        while page := list(islice(rows, _AT_ONCE)):
            wanted = [(id, header) for id, header in page if last is None or id <= last]
            first = found.holds([id for id, _ in wanted])
            yield from (row for row, parent in zip(wanted, first, strict=True) if not parent)
            if len(wanted) < len(page):
                break
        if last is None:
            return
        within = replace(within, after=last)


class _Smallest:
    """The smallest of many ids, without duplicates."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = np.empty(0, f"S{_ID}")
        self._new: list[bytes] = []
        self.bound: CommitId | None = None
        """Largest collected id, once larger ids were discarded."""

    def add(self, child: CommitId, id: CommitId) -> None:
        """Add the id of a first parent."""
        if self.bound is not None and id > self.bound:
            return
        try:
            self._new.append(bytes.fromhex(id))
        except ValueError as e:
            raise CorruptData(
                f"commit {child}: its parent {id!r} is not a commit id",
                kind=Kind.CorruptCommit,
                commit=child,
            ) from e
        if len(self._new) >= _MERGED:
            self.merge()

    def merge(self) -> None:
        """Merge the added ids into the collected ones."""
        merged = np.union1d(self._kept, np.array(self._new, self._kept.dtype))
        self._new = []
        self._kept = merged[: self._most].copy()
        if len(merged) > self._most:
            self.bound = CommitId(bytes(self._kept[-1]).ljust(_ID, b"\0").hex())

    def holds(self, ids: list[CommitId]) -> list[bool]:
        """Return, for each id, if it is one of the collected ids."""
        wanted = np.array([bytes.fromhex(id) for id in ids], self._kept.dtype)
        at = np.searchsorted(self._kept, wanted)
        found = at < len(self._kept)
        found[found] = self._kept[at[found]] == wanted[found]
        return [bool(held) for held in found]
