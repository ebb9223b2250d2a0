"""Registers of a branch that were read together, and the cache of such reads.

A cached copy is used for three minutes. A copy never proves anything, so correctness does not depend on its age. But a
process with an old copy may write into a staging token that was emptied and forgotten long ago. The cleaner therefore
waits longer than three minutes. The same holds for a copy of the repository record from before the first collection
(`gc.collection`). So the age of a copy counts from the beginning of the read, however long the read takes. After a
swap, the cache keeps the new branch record with the repository record that was read before, and with its age.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta

from graveler_core.model.entities import BranchRecord, RepositoryRecord
from graveler_core.model.forks import ForkSafe
from graveler_core.records.access import Held

KEPT = timedelta(minutes=3)
_KEPT_SECONDS = KEPT.total_seconds()
LATE = timedelta(minutes=10)
"""Time after which no process writes according to an old record. It exceeds the sum of `KEPT` and the time budget of a
write."""


@dataclass(frozen=True, slots=True)
class Registers:
    """Records of a repository and a branch that were read together. The branch record has its predicate."""

    repository: RepositoryRecord
    held: Held[BranchRecord]

    @property
    def branch(self) -> BranchRecord:
        return self.held.value


class RegisterCache(ForkSafe):
    """Cache of registers by repository and branch. A copy never proves anything: flows end by reading again.

    Args:
        capacity: Maximum number of branches.
        now: Returns seconds of a clock that continues while the machine sleeps.
    """

    def __init__(self, capacity: int = 4_096, now: Callable[[], float] = time.time) -> None:
        self._capacity = capacity
        self._now = now
        self._held: OrderedDict[tuple[str, str], tuple[Registers, float]] = OrderedDict()
        super().__init__()

    def get(self, repository: str, branch: str) -> Registers | None:
        """Return a copy that is not too old, or `None`. One that is too old does not become young again if the clock is
        set back.
        """
        with self._lock:
            found = self._held.get((repository, branch))
            if found is None or 0 <= self._now() - found[1] < _KEPT_SECONDS:
                return None if found is None else found[0]
            del self._held[repository, branch]
            return None

    @property
    def held(self) -> int:
        """Number of branches in the cache."""
        return len(self._held)

    def now(self) -> float:
        """Return the time by the clock of the cache, in seconds."""
        return self._now()

    def keep(self, repository: str, branch: str, registers: Registers, since: float) -> None:
        """Keep registers.

        Args:
            repository: Name of the repository.
            branch: Name of the branch.
            registers: The registers.
            since: Time by `now` at which the read of the registers began.
        """
        with self._lock:
            self._held[(repository, branch)] = registers, since
            self._held.move_to_end((repository, branch))
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)

    def replace(self, repository: str, branch: str, held: Held[BranchRecord]) -> None:
        """Keep a branch record that was swapped in, if the cache has the repository record. Its age stays as it is."""
        with self._lock:
            found = self._held.get((repository, branch))
            if found is not None:
                self._held[(repository, branch)] = Registers(found[0].repository, held), found[1]

    def forget(self, repository: str, branch: str) -> None:
        with self._lock:
            self._held.pop((repository, branch), None)

    def forget_all(self, repository: str) -> None:
        """Forget all branches of a repository."""
        with self._lock:
            for known in [each for each in self._held if each[0] == repository]:
                del self._held[known]
