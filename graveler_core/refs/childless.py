"""The commits that are not the first parent of any commit: where lines of history end. Source: seed 000, `Iterators`.

A commit does not know its children, so all headers must be read before it can be said of the first commit. Which ids
are first parents is collected in one scan, up to `HELD` of them, the smallest: 32 bytes each, a few times that while
they are merged. If there are more, what was collected decides about all ids up to the largest one kept, and another
scan goes on behind it. So a repository takes one scan of all headers for each million of commits, and as much memory
whatever its size, and one more scan in all to give what was found. Resuming behind an id costs as much as the rest does
from there on: nothing is kept from one iteration to the next.

Commits that come meanwhile are given or not, and are counted as children or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np

from graveler_core.errors import CorruptData, Kind
from graveler_core.kv.store import Store
from graveler_core.model.entities import Commit, Repository
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import scan_headers

HELD = 1_000_000
"""Ids of first parents in memory."""
_MERGED = 65_536
"""Ids that are gathered before they are merged."""
_AT_ONCE = 1_000
_ID = 32
"""Bytes of an id. As numpy's bytes, which end at the last one that is not zero, and compare as if they did not."""


def not_first_parents(
    kv: Store, repo: Repository, *, after: str = "", held: int = HELD
) -> Iterator[tuple[CommitId, Commit]]:
    """Commits that no other one has as its first parent, by id, with their headers, lazily; see above for the cost.

    Args:
        after: Only ids greater than this one; "" for all.
        held: First parents in memory, at least 1.

    Raises:
        CorruptData: a header is not what its id says, or cannot be read.
    """
    while True:
        found = _Smallest(held)
        for id, header in scan_headers(kv, repo):
            if header.parents and header.parents[0] > after:
                found.add(id, header.parents[0])
        found.merge()
        last = found.bound
        rows = scan_headers(kv, repo, after=after)
        while page := list(islice(rows, _AT_ONCE)):
            wanted = [(id, header) for id, header in page if last is None or id <= last]
            first = found.holds([id for id, _ in wanted])
            yield from (row for row, parent in zip(wanted, first, strict=True) if not parent)
            if len(wanted) < len(page):
                break
        if last is None:
            return
        after = last


class _Smallest:
    """The smallest of many ids, each once."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept = np.empty(0, f"S{_ID}")
        self._new: list[bytes] = []
        self.bound: CommitId | None = None
        """The largest one kept, once others were left out."""

    def add(self, child: CommitId, id: CommitId) -> None:
        """Add an id that a commit names."""
        if self.bound is not None and id > self.bound:
            return
        try:
            self._new.append(bytes.fromhex(id))
        except ValueError as e:
            raise CorruptData(
                f"commit {child}: its parent {id!r} is no id", kind=Kind.CorruptCommit, commit=child
            ) from e
        if len(self._new) >= _MERGED:
            self.merge()

    def merge(self) -> None:
        """Put what was added to what is kept."""
        merged = np.union1d(self._kept, np.array(self._new, self._kept.dtype))
        self._new = []
        self._kept = merged[: self._most].copy()
        if len(merged) > self._most:
            self.bound = CommitId(bytes(self._kept[-1]).ljust(_ID, b"\0").hex())

    def holds(self, ids: list[CommitId]) -> list[bool]:
        """Which of some ids are among what is kept."""
        wanted = np.array([bytes.fromhex(id) for id in ids], self._kept.dtype)
        at = np.searchsorted(self._kept, wanted)
        found = at < len(self._kept)
        found[found] = self._kept[at[found]] == wanted[found]
        return [bool(held) for held in found]
