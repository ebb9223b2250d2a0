"""Counters of this process's writes to staging tokens, in memory, written to the store from time to time.

No decision about content depends on the counters, so they may be late. A process that is killed loses the counts that
it has not written: fewer than `every` records of a token, or those of the last `seconds` and a few more. The last
counts of a token may also be lost when a commit or a bulk write seals it. At its normal end, a process writes all but
very small counts.
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
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.ids import BranchId

LOOK = 128
"""Number of writes to a token after which the clock is checked."""


@dataclass(frozen=True, slots=True)
class BranchLayer:
    """Layer of a branch."""

    repository: RepositoryRecord
    branch: BranchId
    layer: str


@dataclass(slots=True)
class _Count:
    place: BranchLayer
    since: float
    writes: int = 0
    tombstones: int = 0
    handed_out: int = 0
    due: int = 0
    """Number of writes at which the next check is due; 0 if nothing is waiting."""
    waiting_since: float = math.inf
    """Time of the first write that has not been written to the store."""


@dataclass(frozen=True, slots=True)
class Due:
    """Counts of a layer that are to be stored: all writes of this process to the layer."""

    place: BranchLayer
    since: float
    """Time of the first write."""
    writes: int
    tombstones: int


class WriteCounts:
    """Counters by branch, for its current token. Safe to use from several threads."""

    def __init__(
        self, every: int = 1_024, seconds: float = 30.0, branches: int = 4_096, names: Callable[[], str] | None = None
    ) -> None:
        """Store the counts of a token after `every` writes, or `seconds` after the first of them.

        Args:
            every: Number of writes.
            seconds: Number of seconds.
            branches: Maximum number of branches that are counted at a time.
            names: Returns the unique name under which a process counts.
        """
        self.every = every
        self._seconds = seconds
        self._most = branches
        self._names = RandomIds().fresh if names is None else names
        self.begin()
        # A forked child counts under its own name, and not its parent's writes.
        os.register_at_fork(after_in_child=partial(_begin_anew, ref(self)))

    @property
    def worth(self) -> int:
        """Number of records from which on a bulk layer gets its own counter record; at least four."""
        return max(4, self.every // 4)

    def begin(self) -> None:
        """Reset all counters and choose a new name."""
        self.writer = self._names()
        """Name under which this process counts."""
        self._lock = threading.Lock()
        self._tokens: OrderedDict[str, _Count] = OrderedDict()
        self._current: dict[tuple[str, str], str] = {}
        """Current token of each branch, by uid of the repository and name of the branch."""
        self._look = math.inf
        """Time of the next check for counts that have waited too long."""

    def counted(self, layer: str, writes: int, tombstones: int) -> bool:
        """Count writes if nothing is due. Return false if the caller must use `add`.

        Every write calls this method, so it uses neither the clock nor a lock. A concurrent thread may cause a lost
        count.
        """
        count = self._tokens.get(layer)
        if count is None or count.writes + writes >= count.due:
            return False
        count.writes += writes
        count.tombstones += tombstones
        return True

    def add(self, place: BranchLayer, writes: int, tombstones: int, at: float) -> list[Due]:
        """Count writes, including tombstones, and return the counts that are due.

        Args:
            place: The layer.
            writes: Number of writes, tombstones included.
            tombstones: Number of tombstones.
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

    def ended(self, repository: RepositoryRecord, branch: BranchId, layers: set[str]) -> int:
        """Remove the counter of a token that has left its branch. Return the number of writes that were counted."""
        with self._lock:
            token = self._current.get((repository.uid, branch))
            if token not in layers:
                return 0
            del self._current[(repository.uid, branch)]
            return self._tokens.pop(token).writes

    def rest(self, least: int = 1) -> list[Due]:
        """Return all counts that have not been stored, of tokens with at least `least` such writes."""
        with self._lock:
            return [_hand_out(c) for c in self._tokens.values() if c.writes - c.handed_out >= max(1, least)]

    def _of(self, place: BranchLayer, at: float, due: list[Due]) -> _Count:
        """Return the counter of a token. The branch's previous counter is removed; if there are too many, the oldest is
        too.
        """
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
