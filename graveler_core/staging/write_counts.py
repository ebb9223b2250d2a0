"""What this process has written to the staging tokens of branches, counted in memory and handed out now and then.

Nobody reads the counters to decide what is staged, so they may be late: a process that is killed takes with it what it
had not handed out, fewer than `every` records of a token, or those of the last `seconds`. A token that a commit or a
bulk write ends takes with it as much: what is not worth a record is not worth a compaction.
"""

from __future__ import annotations

import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from graveler_core.model.clock import RandomIds
from graveler_core.model.entities import Repository
from graveler_core.model.ids import BranchId


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
        self, every: int = 256, seconds: float = 30.0, branches: int = 4_096, names: Callable[[], str] | None = None
    ) -> None:
        """Hand out a token's counts after `every` writes, or `seconds` after the first of them.

        Args:
            branches: As many are counted at a time.
            names: Gives the name that a process counts under; never the same twice.
        """
        self.every = every
        self._seconds = seconds
        self._branches = branches
        self._counts: OrderedDict[tuple[str, str], _Count] = OrderedDict()
        self._earliest = math.inf
        self._names = RandomIds().fresh if names is None else names
        self._process = os.getpid()
        self._writer = self._names()
        self._lock = threading.Lock()

    @property
    def writer(self) -> str:
        """The name that this process counts under."""
        with self._lock:
            self._forked()
            return self._writer

    def add(self, place: Place, counted: tuple[int, int], at: float) -> list[Due]:
        """Count writes and tombstones, and take what is due.

        Args:
            counted: Records written, and how many of them are tombstones.
            at: Seconds since 1970.
        """
        with self._lock:
            self._forked()
            count = self._of(place, at)
            count.writes += counted[0]
            count.tombstones += counted[1]
            if count.waiting_since == math.inf:
                count.waiting_since = at
                self._earliest = min(self._earliest, at)
            due = [self._hand_out(count)] if count.writes - count.handed_out >= self.every else []
            if at - self._earliest >= self._seconds:
                due += [self._hand_out(c) for c in self._counts.values() if at - c.waiting_since >= self._seconds]
                self._earliest = min((c.waiting_since for c in self._counts.values()), default=math.inf)
            if len(self._counts) > self._branches:
                eldest = self._counts.popitem(last=False)[1]
                due += [self._hand_out(eldest)] if eldest.waiting_since != math.inf else []
            return due

    def ended(self, repository: Repository, branch: BranchId, layers: set[str]) -> int:
        """Forget a token that has left its branch; gives how many writes to it were counted here."""
        with self._lock:
            count = self._counts.get((repository.uid, branch))
            if count is None or count.place.layer not in layers:
                return 0
            del self._counts[(repository.uid, branch)]
            return count.writes

    def rest(self) -> list[Due]:
        """Take all that was not handed out yet."""
        with self._lock:
            self._forked()
            self._earliest = math.inf
            return [self._hand_out(c) for c in self._counts.values() if c.waiting_since != math.inf]

    def _of(self, place: Place, at: float) -> _Count:
        key = (place.repository.uid, place.branch)
        count = self._counts.get(key)
        if count is None or count.place.layer != place.layer:
            count = self._counts[key] = _Count(place, at)
            self._counts.move_to_end(key)
        return count

    def _hand_out(self, count: _Count) -> Due:
        count.handed_out, count.waiting_since = count.writes, math.inf
        return Due(count.place, count.since, count.writes, count.tombstones)

    def _forked(self) -> None:
        """A child counts under a name of its own, and not what its parent wrote."""
        if self._process != os.getpid():
            self._process, self._writer, self._earliest = os.getpid(), self._names(), math.inf
            self._counts.clear()
