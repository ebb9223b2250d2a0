"""The order in which commits of a source can be made: parents before children. Some 400 bytes a commit in memory."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

Parents = Mapping[str, Sequence[str]]


def ordered(parents: Parents, known: Collection[str], broken: Callable[[str, str], object]) -> list[str]:
    """The ids of commits, parents before children; of several that could come next the smallest one.

    Args:
        parents: Of each commit that is not broken.
        known: Those that are, too. They and their descendants are left out.
        broken: Told of each other commit that has no place in the order, and why; it is left out.
    """
    waits = {id: len(set(named)) for id, named in parents.items()}
    children = _children(parents, parents)
    ready = [id for id, count in waits.items() if not count]
    heapq.heapify(ready)
    found: list[str] = []
    while ready:
        id = heapq.heappop(ready)
        found.append(id)
        del waits[id]
        for child in children.pop(id, ()):
            waits[child] -= 1
            if not waits[child]:
                heapq.heappush(ready, child)
    for id in sorted(waits):
        missing = next((parent for parent in parents[id] if parent not in known), None)
        if missing is not None:
            broken(id, f"its parent {missing} is not there")
    for id in sorted(_in_circles(parents, waits)):
        broken(id, "it is an ancestor of itself, or descends from such a one")
    return found


def _in_circles(parents: Parents, left: Collection[str]) -> set[str]:
    """Of commits without a place in the order those that descend from none that is broken or has a parent missing."""
    children = _children(parents, left)
    reached = {id for id in left if any(parent not in parents for parent in parents[id])}
    waiting = list(reached)
    while waiting:
        new = set(children[waiting.pop()]) - reached
        reached |= new
        waiting += new
    return set(left) - reached


def _children(parents: Parents, among: Iterable[str]) -> defaultdict[str, list[str]]:
    """Of each commit, those among some that name it as a parent."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id in among:
        for parent in set(parents[id]):
            found[parent].append(id)
    return found
