"""Walks over the commit graph: common ancestors, the chain of first parents, and the merge base.

Every commit has a generation: 1 + the largest generation of its parents. A walk that always takes the commit with the
largest generation reaches a commit only after all its descendants. It does not depend on dates, and it can stop as soon
as no unread commit can matter. The merge base algorithm is Git's paint-down-to-common, ordered by generation instead of
date. It can therefore stop at the first commit that both sides reach.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Iterator

from graveler_core.errors import CorruptData, Kind
from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit

ReadCommit = Callable[[CommitId], StoredCommit]
LEFT, RIGHT = 1, 2
"""Marks that say which side of a walk reaches a commit. A commit reached by both sides has the marks combined with
`|`.
"""
Order = tuple[int, float, str]


def order(commit: StoredCommit) -> Order:
    """Return the sort key of a commit in a walk: larger generations first, then newer dates, then smaller ids.

    The order is total, because ids differ. A commit comes after all its descendants, which have larger generations.
    """
    return (-commit.header.generation, -commit.header.creation_date.timestamp(), commit.id)


class Frontier:
    """Commits that a walk has reached but not taken, each with its marks.

    The marks of a commit are final when it is taken, because all descendants that could add marks were taken before.
    """

    def __init__(self, read: ReadCommit) -> None:
        self._read = read
        self._heap: list[tuple[Order, StoredCommit]] = []
        self._bearing: Counter[int] = Counter()
        self.marks: dict[CommitId, int] = {}

    def reach(self, at: CommitId, marks: int, child: StoredCommit | None = None) -> None:
        """Add a commit, or add marks to a commit that was reached before. A new commit is read.

        Args:
            at: Id of the commit.
            marks: Marks to add.
            child: Commit whose parent this one is.

        Raises:
            CorruptData: The generation is not below that of the child.
        """
        known = self.marks.get(at, 0)
        if not known:
            commit = self._read(at)
            if child is not None and commit.header.generation >= child.header.generation:
                raise CorruptData(
                    f"commit {child.id}: its generation is not above that of its parent {at}",
                    kind=Kind.CorruptCommit,
                    commit=child.id,
                )
            heapq.heappush(self._heap, (order(commit), commit))
        else:
            self._bearing[known] -= 1
        self.marks[at] = known | marks
        self._bearing[known | marks] += 1

    def take(self) -> tuple[StoredCommit, int]:
        """Remove the first commit in the order, and return it with its marks."""
        _, commit = heapq.heappop(self._heap)
        marks = self.marks.pop(commit.id)
        self._bearing[marks] -= 1
        return commit, marks

    def bears(self, marks: int) -> bool:
        """Return true if a commit in the frontier has exactly these marks."""
        return self._bearing[marks] > 0


def first_parents(read: ReadCommit, start: CommitId) -> Iterator[StoredCommit]:
    """Yield a commit, its first parent, and so on to the root."""
    at: CommitId | None = start
    while at is not None:
        commit = read(at)
        yield commit
        at = commit.header.parents[0] if commit.header.parents else None


def merge_base(read: ReadCommit, left: CommitId, right: CommitId) -> CommitId | None:
    """Return the best common ancestor of two commits: a common ancestor that is no ancestor of another one.

    If several are equally good (criss-cross merges), the one with the largest generation is chosen, then the newest,
    then the one with the smallest id. The choice is the same on every machine.

    The walk reads the two commits, the commits that only one side reaches and that precede the merge base in the order,
    and their parents. Unrelated histories are read to their roots.

    Args:
        read: Reads a commit by id.
        left: Id of one commit.
        right: Id of the other commit.

    Returns:
        Id of the merge base, or `None` for unrelated histories.
    """
    frontier = Frontier(read)
    frontier.reach(left, LEFT)
    frontier.reach(right, RIGHT)
    while frontier.marks:
        commit, sides = frontier.take()
        # All descendants have larger generations and were taken before. The first commit that both sides reach is
        # therefore not an ancestor of another common ancestor.
        if sides == LEFT | RIGHT:
            return commit.id
        for parent in commit.header.parents:
            frontier.reach(parent, sides, commit)
    return None
