"""What all actors share, and the names they use."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from graveler_core.model.entry import Entry
from graveler_core.model.ids import BranchId, CommitId, MetarangeId, RepositoryId
from graveler_core.stores import Stores
from tests.proofs.simulation.history import History, Value
from tests.proofs.simulation.observe import Observer
from tests.proofs.simulation.schedule import Scheduler

if TYPE_CHECKING:
    from tests.proofs.simulation.collecting import Lake
    from tests.proofs.simulation.days import Days

WORK = BranchId("work")
SIDE = BranchId("side")
PATHS = ("a/1", "a/2", "b/1")
PREFIXES = ("a/", "b/")
ASIDE = "side "
"""How the messages of commits on the side branch begin."""
ERASURE = "Erase "
"""How the messages of the commits of an erasure begin."""
MAIN = BranchId("main")
OTHER = RepositoryId("other")
SHARED_KEY = "the job"
"""An idempotency key that several processes use at once, as a job does that was given up and runs on."""


@dataclass
class Cast:
    """What all actors share: the history they write, chance, and numbers that were never used before."""

    history: History
    observer: Observer
    scheduler: Scheduler
    paths: Sequence[str] = PATHS
    """What single calls are about."""
    numbers: count[int] = field(default_factory=lambda: count(100))
    asides: count[int] = field(default_factory=count)
    """Numbers of the commits on the side branch."""
    side_values: set[tuple[str, Value]] = field(default_factory=set)
    """All that anyone may have merged from the side branch."""

    stored: Callable[[int], Entry] | None = None
    """Stores content, of so many bytes, or names what somebody stored before. Without it, entries have no content."""
    lake: Lake = field(init=False)
    """Content that was stored, in histories with collections."""
    days: Days = field(init=False)
    """Time that passed, in histories with commits that nothing reaches."""
    trees: dict[CommitId, MetarangeId] = field(default_factory=dict)
    """Trees of commits on the side branch on which somebody reported. No two of these commits have the same content."""
    versions: dict[str, dict[str, Value]] = field(default_factory=dict)
    """What the paths showed in listings, by their versions."""

    @property
    def chance(self) -> random.Random:
        return self.scheduler.chance

    def entry(self) -> Entry:
        """An entry that no one has written before, but where content is stored."""
        number = next(self.numbers)
        if self.stored is not None:
            return self.stored(number)
        return Entry(address=f"data/{number}", size=number, checksum=str(number))

    def aside(self) -> str:
        """A message for a commit on the side branch that no other commit has, also if it stores known content."""
        return f"{ASIDE}{next(self.asides)}"

    def mark(self) -> str:
        """A text that no one has written before."""
        return f"mark {next(self.numbers)}"


Act = Callable[[Cast, Stores, str], None]
