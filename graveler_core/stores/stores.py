"""Everything that flows work on, as one frozen value."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from graveler_core.blobs.port import BlobStores
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.index.indexes import Indexes, Sizes
from graveler_core.committed.trees import Trees
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource, RandomIds, SystemClock
from graveler_core.model.entities import RepositoryRecord
from graveler_core.model.layers import Layer
from graveler_core.objects.commits import CommitCache
from graveler_core.objects.kept_blobs import KeptBlobs
from graveler_core.objects.objects import Objects
from graveler_core.objects.sweep_register import SweepRegister
from graveler_core.segments.boundary import Cutting
from graveler_core.staging.stack import Stack
from graveler_core.staging.write_counts import WriteCounts
from graveler_core.stores.background import AtOnce, Background
from graveler_core.stores.cluster import Cluster
from graveler_core.stores.executor import Executor, Threads
from graveler_core.stores.hooks import Hooks
from graveler_core.stores.noted_events import NotedEvents
from graveler_core.stores.opening import Opening
from graveler_core.stores.registers import RegisterCache, Registers
from graveler_core.stores.shared_reads import SharedReads
from graveler_core.stores.turns import Turns
from graveler_core.stores.underway import Underway

if TYPE_CHECKING:
    from graveler_core.iam.principal import Principal

COLLECTED_BYTES = 64 << 20
"""Maximum size of the fingerprints of collected addresses in memory, in bytes."""


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Time limit of one call with all its attempts, and bounds of one pause between attempts. In seconds."""

    total: float = 60.0
    least: float = 0.001
    most: float = 2.0


@dataclass(frozen=True, slots=True)
class Stores:
    """Storage, clock, source of ids, executor, and the state that threads of this process share."""

    kv: Store
    blobs: BlobStores
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=RandomIds)
    executor: Executor = field(default_factory=Threads)
    cluster: Cluster | None = None
    """Cluster for work that exceeds this machine. `None` means that threads do all work."""
    background: Background = field(default_factory=AtOnce)
    hook_calls: Background = field(default_factory=AtOnce)
    """Calls of hooks after a change. They are separate from `background` because a hook may never return."""
    cutting: Cutting = field(default_factory=Cutting)
    sizes: Sizes = field(default_factory=Sizes)
    retry_budget: RetryBudget = field(default_factory=RetryBudget)
    commits: CommitCache = field(default_factory=CommitCache)
    registers: RegisterCache = field(default_factory=RegisterCache)
    reads: SharedReads[Registers] = field(default_factory=SharedReads)
    turns: Turns = field(default_factory=Turns)
    ranges: TreeCache = field(default_factory=TreeCache)
    uncommitted: TreeCache = field(default_factory=lambda: TreeCache(32 << 20))
    """Cache of the changes in compacted trees. It is separate from `ranges`, so that large differences do not evict
    other data.
    """
    collected: TreeCache = field(default_factory=lambda: TreeCache(COLLECTED_BYTES))
    """Cache of the fingerprints of addresses that were collected. It is separate from `ranges`, so that they do not
    evict other data.
    """
    folding: Underway = field(default_factory=Underway)
    counts: WriteCounts = field(default_factory=WriteCounts)
    noted: NotedEvents = field(default_factory=NotedEvents)
    hooks: Hooks = field(default_factory=Hooks)
    principal: Principal | None = None
    """Principal that the façade checks permissions for. `None` means that everything is allowed."""
    opening: Opening | None = field(default=None, repr=False)
    """Arguments with which `connect` opened the stores. `None` for stores that were made in another way."""
    wall: Callable[[], float] = time.time
    """Clock for the age of blobs: seconds since 1970. It continues while the machine sleeps."""

    def trees(self, repo: RepositoryRecord) -> Trees:
        """Return the committed trees of a repository."""
        return Trees(
            blobs=KeptBlobs(
                self.blobs.at(repo.storage_namespace),
                SweepRegister(self.kv, repo, self.clock, self.ids),
                self.wall,
            ),
            boundary_seed=repo.boundary_seed,
            cutting=self.cutting,
            cache=self.ranges,
        )

    def indexes(self, repo: RepositoryRecord) -> Indexes:
        """Return the layered indexes of a repository."""
        return Indexes(self.trees(repo), Objects(self.kv, repo, self.clock), self.sizes_of(repo))

    def sizes_of(self, repo: RepositoryRecord) -> Sizes:
        """Return the sizes of the indexes of a repository: its own settings, else those of the stores."""
        chosen = repo.index_sizes.chosen()
        return replace(self.sizes, **chosen) if chosen else self.sizes

    def stack(self, repo: RepositoryRecord, layers: Sequence[Layer]) -> Stack:
        """Return layers of a branch with the stores that hold their records."""
        return Stack(self.kv, self.blobs.at(repo.storage_namespace), tuple(layers))

    def moment(self) -> datetime:
        """Return the time of the clock `wall`."""
        return datetime.fromtimestamp(self.wall(), UTC)

    def close(self) -> None:
        """Stop background work, and close connections and files. Later calls raise `Unavailable`."""
        self.hook_calls.close()
        self.background.close()
        self.kv.close()
