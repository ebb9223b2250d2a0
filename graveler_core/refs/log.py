"""Log of a commit: the commit and its ancestors in order, optionally without the ancestors of other commits. A log can
be resumed after any commit.

Source: seed 000, `commit_iterator`, which walks breadth first: descendants before ancestors, each commit once. This
walk is ordered by generation, so that a commit that is close on one path and far on another still comes after all its
descendants. Breadth-first order does not guarantee that.

A walk can be resumed after any commit X without repeating the earlier part. The order is total, and every commit comes
after its descendants (`ancestry.order`). The *frontier* of X is the set of commits that were reached but not yielded
when X was yielded, including the parents of X.

* All remaining commits are reachable from the frontier. On a path from the start to a commit that was not yielded,
  the commit after the last yielded one was reached, so it is in the frontier.
* No commit that was yielded is reachable from the frontier: it comes before X or is X, and everything that the
  frontier reaches comes after X.
* The same is true for commits to leave out. They are walked in the same order with their own mark.

The frontier alone therefore determines the remaining commits and their order. Moving branches and new commits do not
change it, because no commit gets new ancestors. In a history with few parallel lines the frontier is a few ids. If
hundreds of branches were merged, it can be hundreds of ids. In that case a position stores the last narrow frontier
together with X, and resuming walks from there to X again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import LEFT, RIGHT, Frontier, ReadCommit, order

WIDEST = 32
"""Maximum number of ids in a position. A larger value makes tokens longer; a smaller one makes it slower to resume
walks of wide histories.
"""
_SHOWN, _LEFT_OUT = LEFT, RIGHT


@dataclass(frozen=True, slots=True)
class LogPosition:
    """Position of a walk."""

    ahead: tuple[CommitId, ...]
    """Ids of commits to show, with their ancestors."""
    without: tuple[CommitId, ...] = ()
    """Ids of commits to leave out, with their ancestors."""
    behind: CommitId | None = None
    """Show only commits that come after this one in the order."""


@dataclass(frozen=True, slots=True)
class LogStep:
    """Commit of a log, and the position after it."""

    commit: StoredCommit
    behind: LogPosition


def log(
    read: ReadCommit,
    start: LogPosition,
    *,
    first_parent: bool = False,
    not_before: datetime | None = None,
    widest: int = WIDEST,
) -> Iterator[LogStep]:
    """Yield the commits from a position on: descendants before ancestors, newer before older, each once.

    The walk reads the commits that it yields and their parents. Of the commits to leave out, it reads those that
    precede the last yielded commit, and their parents. With `behind`, it also reads the commits up to that one. Only
    the frontier is in memory.

    Args:
        read: Reads a commit by id.
        start: Position to start from.
        first_parent: Show only the chain of first parents. Commits to leave out are left out with all their
            ancestors.
        not_before: Date of the oldest commits. Older ones are left out, and the walk does not go on from them to their
            parents.
        widest: Maximum number of ids in a position.
    """
    walk = _walk(read, start, first_parent=first_parent, not_before=not_before, widest=widest)
    if start.behind is None:
        yield from walk
        return
    passed = order(read(start.behind))
    for step in walk:
        if order(step.commit) > passed:
            yield step


def _walk(
    read: ReadCommit, start: LogPosition, *, first_parent: bool, not_before: datetime | None, widest: int
) -> Iterator[LogStep]:
    frontier = Frontier(read)
    for at in start.ahead:
        frontier.reach(at, _SHOWN)
    for at in start.without:
        frontier.reach(at, _LEFT_OUT)
    narrow = replace(start, behind=None)
    while frontier.bears(_SHOWN):
        commit, marks = frontier.take()
        if marks == _SHOWN and not_before is not None and commit.header.creation_date < not_before:
            continue
        parents = commit.header.parents
        if marks == _SHOWN:
            parents = parents[:1] if first_parent else parents
            here = _place(frontier, parents, widest)
            narrow = here or narrow
            yield LogStep(commit, here or replace(narrow, behind=commit.id))
        for parent in parents:
            frontier.reach(parent, marks, commit)


def _place(frontier: Frontier, parents: tuple[CommitId, ...], widest: int) -> LogPosition | None:
    """Return the frontier including these parents, which are not read, or `None` if it is too wide."""
    if len(frontier.marks) + len(parents) > widest:
        return None
    marks = frontier.marks
    shown = {at for at, mark in marks.items() if mark == _SHOWN} | {at for at in parents if at not in marks}
    return LogPosition(tuple(sorted(shown)), tuple(sorted(marks.keys() - shown)))
