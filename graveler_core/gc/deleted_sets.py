"""Choice of the sets of deleted objects that are put together, so that the collection record stays small.

Sets older than `REMEMBERED` are forgotten. If commits have expired, these still show the addresses, so the sets are put
together into one that is remembered for ever. A set with a file that cannot be read stays as it is.

A set that was made of several is remembered for as long as the youngest of them. Sets are therefore put together if
they were deleted in the same period: no address is remembered for longer than `REMEMBERED` and a period.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain, pairwise

from graveler_core.model.collection import REMEMBERED, Collections, CondemnedSet
from graveler_core.objects.sorted_files import FILES

FALLEN = 4
"""Number of sets older than `REMEMBERED` that are put together at once, in repositories with expired commits."""
FOREVER_FILES = 64
"""Maximum number of files of the set that is remembered for ever. It grows, and its files should not grow with it."""
SETS = 10
"""Maximum number of sets that remain. It is greater than the number of periods in `REMEMBERED`."""
PERIOD = REMEMBERED / 6


@dataclass(frozen=True, slots=True)
class Shortening:
    """Groups of the deleted sets of a record. Each group is to become one set."""

    past: list[list[CondemnedSet]]
    """Newest first."""
    forever: list[CondemnedSet]
    """Group for the set that is remembered for ever. It may be empty."""
    unreadable: Container[str]
    """Ids of sets that have a file that cannot be read. They stay as they are."""

    def rewritten(self) -> Iterator[CondemnedSet]:
        """Yield the sets of which the files are to be written again."""
        groups = [group for group in self.past if self.is_rewritten(group, FILES)]
        yield from chain(*groups, self.forever if self.is_rewritten(self.forever, FOREVER_FILES) else ())

    def is_rewritten(self, group: Sequence[CondemnedSet], files: int) -> bool:
        """Return `True` if a group has several sets, or a readable one that has more than some number of files."""
        return len(group) > 1 or any(len(one.files) > files and one.id not in self.unreadable for one in group)


def shortening(record: Collections, now: datetime, unreadable: Container[str]) -> Shortening:
    """Return the groups for a record.

    Args:
        record: The record.
        now: The present time.
        unreadable: Ids of sets that have a file that cannot be read.
    """
    young = [one for one in record.past if now - one.since < REMEMBERED]
    old = [one for one in record.past if now - one.since >= REMEMBERED and record.expired is not None]
    kept = [one for one in (*young, *old) if one.id in unreadable]
    young, old = ([one for one in sets if one.id not in unreadable] for sets in (young, old))
    forever = [] if record.forever is None else [record.forever]
    fallen = [[one] for one in old]
    if record.forever is not None and record.forever.id in unreadable:
        fallen = [old] if len(old) >= FALLEN else fallen
    elif len(old) >= FALLEN or any(len(one.files) > FOREVER_FILES for one in forever):
        forever, fallen = [*old, *forever], []
    past = [*grouped(young, max(1, SETS - len(kept))), *fallen, *([one] for one in kept)]
    return Shortening(sorted(past, key=lambda group: group[0].since, reverse=True), forever, unreadable)


def grouped(sets: Sequence[CondemnedSet], most: int) -> list[list[CondemnedSet]]:
    """Return sets in groups of neighbours.

    Small groups are joined first, so that an object is written again only a few times.

    Args:
        sets: Sets younger than `REMEMBERED`, newest first.
        most: Maximum number of groups.
    """
    groups = [[one] for one in sets]
    while len(groups) > most:
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
