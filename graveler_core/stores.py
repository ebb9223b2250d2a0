"""Everything a use case needs from outside, as one frozen value: stores, time, chance, workers, caches.

Use cases are functions `f(stores, …)`. `wiring` makes the one of production; tests and the simulator make theirs.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from graveler_core.blobs.port import BlobStores
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.trees import Trees
from graveler_core.kv.store import Store
from graveler_core.model.clock import Clock, IdSource, RandomIds, SystemClock
from graveler_core.model.entities import Branch, Repository
from graveler_core.objects.commits import CommitCache
from graveler_core.records.access import Held
from graveler_core.segments.boundary import Cutting

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Seconds: for one call with all its attempts, and the bounds of one pause between them."""

    total: float = 60.0
    least: float = 0.001
    most: float = 2.0


class Executor(Protocol):
    """Where planned key intervals are worked on: threads here, Spark in `jobs`."""

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        """Results in the order of the items; the first error is raised."""
        ...


class Threads:
    """An executor of a few threads, begun at the first use."""

    def __init__(self, workers: int = 2) -> None:
        self._workers = workers
        self._pool: ThreadPoolExecutor | None = None
        self._lock = threading.Lock()

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="graveler")
        return self._pool.map(work, items)


@dataclass(frozen=True, slots=True)
class Registers:
    """A repository's and a branch's record as they were read together, the branch's with its predicate."""

    repository: Repository
    held: Held[Branch]

    @property
    def branch(self) -> Branch:
        return self.held.value


class RegisterCache:
    """The registers read last, by (repository, branch). Never proof of anything: flows end by reading again."""

    def __init__(self, capacity: int = 4_096) -> None:
        self._capacity = capacity
        self._held: OrderedDict[tuple[str, str], Registers] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, repository: str, branch: str) -> Registers | None:
        with self._lock:
            return self._held.get((repository, branch))

    def keep(self, repository: str, branch: str, registers: Registers) -> None:
        with self._lock:
            self._held[(repository, branch)] = registers
            self._held.move_to_end((repository, branch))
            while len(self._held) > self._capacity:
                self._held.popitem(last=False)

    def forget(self, repository: str, branch: str) -> None:
        with self._lock:
            self._held.pop((repository, branch), None)


@dataclass(frozen=True, slots=True)
class Stores:
    """What use cases work on."""

    kv: Store
    blobs: BlobStores
    clock: Clock = field(default_factory=SystemClock)
    ids: IdSource = field(default_factory=RandomIds)
    executor: Executor = field(default_factory=Threads)
    cutting: Cutting = field(default_factory=Cutting)
    retry_budget: RetryBudget = field(default_factory=RetryBudget)
    commits: CommitCache = field(default_factory=CommitCache)
    registers: RegisterCache = field(default_factory=RegisterCache)
    ranges: TreeCache = field(default_factory=TreeCache)

    def trees(self, repo: Repository) -> Trees:
        """The committed trees of a repository."""
        return Trees(
            blobs=self.blobs.at(repo.storage_namespace),
            boundary_seed=repo.boundary_seed,
            cutting=self.cutting,
            cache=self.ranges,
        )

    def close(self) -> None:
        """Give back connections. Any call afterwards raises `Unavailable`."""
        self.kv.close()
