"""Choice of the sets of deleted objects that are put together, so that the collection record stays small.

A set that was made of several is remembered for as long as the youngest of them. Sets are therefore put together if
they were deleted in the same period: no address is remembered for longer than `REMEMBERED` and a period.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from graveler_core.model.collection import REMEMBERED, CondemnedSet

SETS = 10
"""Maximum number of sets that remain. It is greater than the number of periods in `REMEMBERED`."""
PERIOD = REMEMBERED / 6


def grouped(sets: Sequence[CondemnedSet]) -> list[list[CondemnedSet]]:
    """Return sets in groups of neighbours, each of which is to become one set.

    Small groups are joined first, so that an object is written again only a few times.

    Args:
        sets: Sets younger than `REMEMBERED`, newest first.
    """
    groups = [[one] for one in sets]
    while len(groups) > SETS:
        joined = [one + other for one, other in pairwise(groups)]
        at = min(range(len(joined)), key=lambda at: _cost(joined[at]))
        groups[at : at + 2] = [joined[at]]
    return groups


def _cost(group: Sequence[CondemnedSet]) -> tuple[bool, int]:
    """Return the order in which groups are joined. Those of different periods are last: only a clock that is far ahead
    makes so many periods.
    """
    periods = {one.since.timestamp() // PERIOD.total_seconds() for one in group}
    return len(periods) > 1, sum(one.objects for one in group)
