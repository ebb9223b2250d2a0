"""Walks over the commit graph: what they have in common, the chain of a branch, and the merge base.

Every commit carries its generation (1 + the largest of its parents'), so a walk that takes the largest generation
first never meets a commit before all its descendants: no date is trusted, and a walk ends as soon as nothing unread
can matter. Source of the merge base: Git's paint-down-to-common, ordered by generation instead of date, which lets it
stop at the first commit that both sides reach.
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
"""Marks: which side of a walk reaches a commit. Both may: marks are added with `|`."""
Order = tuple[int, float, str]


def order(commit: StoredCommit) -> Order:
    """Where a commit stands in a walk: larger generations first, then newer dates, then smaller ids.

    Total, as ids differ, and every commit stands behind all its descendants, whose generations are larger.
    """
    return (-commit.header.generation, -commit.header.creation_date.timestamp(), commit.id)


class Frontier:
    """Commits that a walk has reached and not yet taken, each with its marks. Holds nothing that was taken.

    A commit's marks are final when it is taken: whoever could still add to them, a descendant, was taken before.
    """

    def __init__(self, read: ReadCommit) -> None:
        self._read = read
        self._heap: list[tuple[Order, StoredCommit]] = []
        self._bearing: Counter[int] = Counter()
        self.marks: dict[CommitId, int] = {}

    def reach(self, at: CommitId, marks: int, child: StoredCommit | None = None) -> None:
        """Add a commit, or marks to one that was reached before; the first time, it is read.

        Raises:
            CorruptData: its generation is not below that of the child it was reached from.
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
        """The first commit in the order, and its marks."""
        _, commit = heapq.heappop(self._heap)
        marks = self.marks.pop(commit.id)
        self._bearing[marks] -= 1
        return commit, marks

    def bears(self, marks: int) -> bool:
        """Whether some commit bears exactly these marks."""
        return self._bearing[marks] > 0


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
    smallest id: the same on every machine.

    Reads what lies between, and no more: the commits that one side alone reaches and that stand before the base in the
    order, their parents, and the two. Unrelated histories are read to their roots.
    """
    frontier = Frontier(read)
    frontier.reach(left, LEFT)
    frontier.reach(right, RIGHT)
    while frontier.marks:
        commit, sides = frontier.take()
        # All descendants have a larger generation and were taken before, so the first commit that both sides reach is
        # an ancestor of no other common one.
        if sides == LEFT | RIGHT:
            return commit.id
        for parent in commit.header.parents:
            frontier.reach(parent, sides, commit)
    return None
