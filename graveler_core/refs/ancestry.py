"""Walks over the commit graph: the log, and the merge base.

Every commit carries its generation (1 + the largest of its parents'), so a walk that takes the largest generation
first never meets a commit before all its descendants: no date is trusted, and a walk ends as soon as nothing unread
can matter. Source of the merge base: Git's paint-down-to-common, ordered by generation instead of date, which lets it
stop at the first commit that both sides reach.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator

from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit

ReadCommit = Callable[[CommitId], StoredCommit]
_LEFT, _RIGHT = 1, 2


def _order(commit: StoredCommit) -> tuple[int, float, str]:
    return (-commit.header.generation, -commit.header.creation_date.timestamp(), commit.id)


def log(read: ReadCommit, start: CommitId, *, first_parent: bool = False) -> Iterator[StoredCommit]:
    """A commit and its ancestors, descendants before ancestors, newer before older; each once, lazily."""
    first = read(start)
    heap = [(_order(first), first)]
    seen = {start}
    while heap:
        _, commit = heapq.heappop(heap)
        yield commit
        parents = commit.header.parents[:1] if first_parent else commit.header.parents
        for parent in parents:
            if parent not in seen:
                seen.add(parent)
                stored = read(parent)
                heapq.heappush(heap, (_order(stored), stored))


def first_parents(read: ReadCommit, start: CommitId) -> Iterator[StoredCommit]:
    """The chain of a branch: a commit, its first parent, and so on to the root."""
    at: CommitId | None = start
    while at is not None:
        commit = read(at)
        yield commit
        at = commit.header.parents[0] if commit.header.parents else None


def merge_base(read: ReadCommit, left: CommitId, right: CommitId) -> CommitId | None:
    """The best common ancestor: one that is no ancestor of another common ancestor; None for unrelated histories.

    Where several are equally good (criss-cross merges), the one of the largest generation, then the newest, then the
    smallest id: the same on every machine. Reads O(commits between).
    """
    sides: dict[CommitId, int] = {}
    heap: list[tuple[tuple[int, float, str], StoredCommit]] = []

    def reach(at: CommitId, side: int) -> None:
        if at not in sides:
            commit = read(at)
            heapq.heappush(heap, (_order(commit), commit))
        sides[at] = sides.get(at, 0) | side

    reach(left, _LEFT)
    reach(right, _RIGHT)
    while heap:
        _, commit = heapq.heappop(heap)
        # All descendants have a larger generation and were taken before, so the first commit that both sides reach is
        # an ancestor of no other common one.
        if sides[commit.id] == _LEFT | _RIGHT:
            return commit.id
        for parent in commit.header.parents:
            reach(parent, sides[commit.id])
    return None
