"""The log: a commit and its ancestors in order, perhaps without those that another commit has; from any place on.
Source: seed 000, `commit_iterator`, which goes breadth first: descendants before ancestors, each commit once. So does
this, and by generation, so that a commit that is near by one way and far by another still stands behind all that have
it as an ancestor; breadth first alone says nothing of these.

Why a walk can be resumed behind any commit X without walking again what came before. The order is total, and every
commit stands behind its descendants (`ancestry.order`). The frontier of X is what was reached and not given when X had
been given, X's parents among it.

* All that is left is reachable from the frontier: on a path from the start to a commit that was not given, the commit
  that follows the last one given was reached, and is in the frontier.
* Nothing that was given is: it stands before X or is X, and what the frontier reaches stands behind X.
* The same holds for the commits to leave out, which are walked in the same order with a mark of their own.

So the frontier alone fixes what comes, and in which order. Neither a branch that moved nor new commits change it, as
no commit gets new ancestors. In a history of few parallel lines it is a few ids. A history in which hundreds of
branches were merged can have hundreds of them open at once; there a place is the last frontier that was narrow,
together with X, and resuming walks from there to X again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from graveler_core.model.ids import CommitId
from graveler_core.objects.commits import StoredCommit
from graveler_core.refs.ancestry import LEFT, RIGHT, Frontier, ReadCommit, order

WIDEST = 32
"""Ids that a place may hold. More of them make longer tokens, fewer make walks of wide histories resume more slowly."""
_SHOWN, _LEFT_OUT = LEFT, RIGHT


@dataclass(frozen=True, slots=True)
class Place:
    """Where a walk stands, or begins."""

    ahead: tuple[CommitId, ...]
    """Show these and their ancestors,"""
    without: tuple[CommitId, ...] = ()
    """but not these and their ancestors,"""
    behind: CommitId | None = None
    """and only what stands behind this one in the order."""


@dataclass(frozen=True, slots=True)
class Step:
    """A commit of a log, and the place behind it."""

    commit: StoredCommit
    behind: Place


def log(read: ReadCommit, start: Place, *, first_parent: bool = False, widest: int = WIDEST) -> Iterator[Step]:
    """The commits from a place on, descendants before ancestors, newer before older; each once, lazily.

    Reads the commits that it gives and their parents; of those to leave out, the ones that stand before the last of
    these, and their parents; and with `behind`, what is walked again to get there. In memory is the frontier alone.

    Args:
        first_parent: Show only the chain of first parents. What is left out is left out with all its ancestors.
        widest: Ids that a place may hold.
    """
    walk = _walk(read, start, first_parent=first_parent, widest=widest)
    if start.behind is None:
        yield from walk
        return
    passed = order(read(start.behind))
    for step in walk:
        if order(step.commit) > passed:
            yield step


def _walk(read: ReadCommit, start: Place, *, first_parent: bool, widest: int) -> Iterator[Step]:
    frontier = Frontier(read)
    for at in start.ahead:
        frontier.reach(at, _SHOWN)
    for at in start.without:
        frontier.reach(at, _LEFT_OUT)
    narrow = replace(start, behind=None)
    while frontier.bears(_SHOWN):
        commit, marks = frontier.take()
        parents = commit.header.parents
        if marks == _SHOWN:
            parents = parents[:1] if first_parent else parents
            here = _place(frontier, parents, widest)
            narrow = here or narrow
            yield Step(commit, here or replace(narrow, behind=commit.id))
        for parent in parents:
            frontier.reach(parent, marks, commit)


def _place(frontier: Frontier, parents: tuple[CommitId, ...], widest: int) -> Place | None:
    """The frontier as it will be with these parents, which are not read for it; None where it is wide."""
    if len(frontier.marks) + len(parents) > widest:
        return None
    marks = frontier.marks
    shown = {at for at, mark in marks.items() if mark == _SHOWN} | {at for at in parents if at not in marks}
    return Place(tuple(sorted(shown)), tuple(sorted(marks.keys() - shown)))
