"""What this process has written to the staging tokens of branches, counted in memory and handed out now and then.

Nobody reads the counters to decide what is staged, so they may be late: a process that is killed takes with it what it
had not handed out, fewer than `every` records of a token, or those of the last `seconds` and a few more; so does a
token that a commit or a bulk write ends. A process that ends keeps back next to nothing: a 32nd of that.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from weakref import ref

from graveler_core.model.clock import RandomIds
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId

LOOK = 128
"""After so many writes to a token somebody looks at the clock."""


@dataclass(frozen=True, slots=True)
class Place:
    """A layer of a branch."""

    repository: Repository
    branch: BranchId
    layer: str


@dataclass(slots=True)
class _Count:
    place: Place
    since: float
    writes: int = 0
    tombstones: int = 0
    handed_out: int = 0
    due: int = 0
    """At so many writes there may be something to do; 0 while nothing waits."""
    waiting_since: float = math.inf
    """When the first write was counted that was not handed out."""


@dataclass(frozen=True, slots=True)
class Due:
    """What is to be written down of a layer: all that this process wrote to it."""

    place: Place
    since: float
    """When the first of it was written."""
    writes: int
    tombstones: int


class WriteCounts:
    """Counts by branch, of the token that is written to now. Safe for several threads."""

    def __init__(
        self, every: int = 1_024, seconds: float = 30.0, branches: int = 4_096, names: Callable[[], str] | None = None
    ) -> None:
        """Hand out a token's counts after `every` writes, or `seconds` after the first of them.

        Args:
            branches: As many are counted at a time.
            names: Gives the name that a process counts under; never the same twice.
        """
        self.every = every
        self._seconds = seconds
        self._most = branches
        self._names = RandomIds().fresh if names is None else names
        self.begin()
        # A child counts under a name of its own, and not what its parent wrote.
        os.register_at_fork(after_in_child=partial(_begin_anew, ref(self)))

    @property
    def worth(self) -> int:
        """From so many records on, a layer that is written at once is worth a record of its own; four at least."""
        return max(4, self.every // 4)

    def begin(self) -> None:
        """Count from nothing, under a new name."""
        self.writer = self._names()
        """The name that this process counts under."""
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, _Count] = OrderedDict()
        self._current: dict[tuple[str, str], str] = {}
        """The token of each branch, by repository's uid and branch."""
        self._look = math.inf
        """When to look for what waits too long."""

    def counted(self, layer: str, writes: int, tombstones: int) -> bool:
        """Count writes where nothing comes of it; False where `add` is to count them.

        Every write pays for this: no look at the clock, and no lock. A thread that comes in between may cost a count.
        """
        count = self._tokens.get(layer)
        if count is None or count.writes + writes >= count.due:
            return False
        count.writes += writes
        count.tombstones += tombstones
        return True

    def add(self, place: Place, writes: int, tombstones: int, at: float) -> list[Due]:
        """Count writes, tombstones among them, and take what is due.

        Args:
            at: Seconds since 1970.
        """
        with self._lock:
            due: list[Due] = []
            count = self._of(place, at, due)
            count.writes += writes
            count.tombstones += tombstones
            if count.waiting_since == math.inf:
                count.waiting_since = at
                self._look = min(self._look, at + self._seconds)
            count.due = min(count.writes + LOOK, count.handed_out + self.every)
            if count.writes - count.handed_out >= self.every:
                due.append(_hand_out(count))
            if at >= self._look:
                due += [_hand_out(c) for c in self._tokens.values() if at - c.waiting_since >= self._seconds]
                self._look = self._seconds + min(c.waiting_since for c in self._tokens.values())
            return due

    def ended(self, repository: Repository, branch: BranchId, layers: set[str]) -> int:
        """Forget a token that has left its branch; gives how many writes to it were counted here."""
        with self._lock:
            token = self._current.get((repository.uid, branch))
            if token not in layers:
                return 0
            del self._current[(repository.uid, branch)]
            return self._tokens.pop(token).writes

    def rest(self, least: int = 1) -> list[Due]:
        """Take all that was not handed out yet; of each token, if it is at least so much."""
        with self._lock:
            return [_hand_out(c) for c in self._tokens.values() if c.writes - c.handed_out >= max(1, least)]

    def _of(self, place: Place, at: float, due: list[Due]) -> _Count:
        """The count of a token; the one that the branch had before is forgotten, and of too many the eldest."""
        count = self._tokens.get(place.layer)
        if count is None:
            branch = (place.repository.uid, place.branch)
            self._tokens.pop(self._current.get(branch, ""), None)
            count = self._tokens[place.layer] = _Count(place, at)
            self._current[branch] = place.layer
            if len(self._tokens) > self._most:
                eldest = self._tokens.popitem(last=False)[1]
                del self._current[(eldest.place.repository.uid, eldest.place.branch)]
                due += [_hand_out(eldest)] if eldest.waiting_since != math.inf else []
        return count


def _hand_out(count: _Count) -> Due:
    count.handed_out, count.due, count.waiting_since = count.writes, 0, math.inf
    return Due(count.place, count.since, count.writes, count.tombstones)


def _begin_anew(counts: Callable[[], WriteCounts | None]) -> None:
    found = counts()
    if found is not None:
        found.begin()
