"""The order in which commits of a source can be made: parents before children. Some 400 bytes a commit in memory."""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence


def ordered(parents: Mapping[str, Sequence[str]], broken: Callable[[str, str], object]) -> list[str]:
    """The ids of commits, parents before children; of several that could come next the smallest one.

    Args:
        parents: Of each commit.
        broken: Told of each commit that has no place in it, and why; it is left out.
    """
    waits: dict[str, int] = {}
    children: defaultdict[str, list[str]] = defaultdict(list)
    for id, named in parents.items():
        waits[id] = len(set(named))
        for parent in set(named):
            children[parent].append(id)
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
        missing = [parent for parent in parents[id] if parent not in parents]
        why = (
            f"its parent {missing[0]} is not there" if missing else "its ancestors are not there, or it is one of them"
        )
        broken(id, why)
    return found
