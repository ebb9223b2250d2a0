"""Order in which source commits can be created: parents before children. Uses about 400 bytes for each commit."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

Parents = Mapping[str, Sequence[str]]


def ordered(parents: Parents, known: Collection[str], broken: Callable[[str, str], object]) -> list[str]:
    """Return the ids of commits, parents before children. Among several candidates the smallest id comes first.

    Args:
        parents: Parents of each commit that is not broken.
        known: Ids of all commits, including broken ones. Descendants of broken commits are left out.
        broken: Called with the id and the reason for each other commit that has no place in the order. The commit is
            left out.
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
            broken(id, f"its parent {missing} is missing")
    for id in sorted(_in_circles(parents, waits)):
        broken(id, "it is an ancestor of itself, or descends from a commit that is")
    return found


def _in_circles(parents: Parents, left: Collection[str]) -> set[str]:
    """Return the commits in circles, and the descendants of these commits.

    Commits that descend from a broken commit or a missing parent are left out.

    Args:
        parents: Parents of each commit that is not broken.
        left: Commits without a place in the order.
    """
    children = _children(parents, left)
    reached = {id for id in left if any(parent not in parents for parent in parents[id])}
    waiting = list(reached)
    while waiting:
        new = set(children[waiting.pop()]) - reached
        reached |= new
        waiting += new
    return set(left) - reached


def _children(parents: Parents, among: Iterable[str]) -> defaultdict[str, list[str]]:
    """Return, for each commit, its children among the given ones."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for id in among:
        for parent in set(parents[id]):
            found[parent].append(id)
    return found
