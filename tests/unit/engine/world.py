"""A small world to run the engine in: time and chance under control, everything in memory, trees of many ranges."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TypeVar

from graveler_core.blobs.open import OpenedBlobs
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.index.indexes import Sizes
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.kv.backends.memory import MemoryStore, open_memory
from graveler_core.kv.store import Store
from graveler_core.model.entry import Entry
from graveler_core.segments.boundary import Cutting
from graveler_core.stores import Stores

TINY = Cutting(mean_entries=3, max_bytes=1_500, fan_out=2)
TINY_SIZES = Sizes(
    inline_bytes=500,
    object_bytes=1_500,
    fan_out=2,
    fold_elements=8,
    fold_share=2,
    direct_share=2,
    small_elements=6,
    held_changes=10,
    few_keys=2,
)
"""A few commits make runs, merge them and fold them, and a large one goes to the metarange."""
START = datetime(2026, 1, 1, tzinfo=UTC)
_worlds = count()
T = TypeVar("T")
U = TypeVar("U")


class FakeClock:
    """A clock that moves by a microsecond at each look, and otherwise only when told to, or slept on."""

    def __init__(self) -> None:
        self.time = START

    def now(self) -> datetime:
        self.time += timedelta(microseconds=1)
        return self.time

    def monotonic(self) -> float:
        return (self.time - START).total_seconds()

    def sleep(self, seconds: float) -> None:
        self.time += timedelta(seconds=seconds)


class SuspendedClock(FakeClock):
    """A clock of a machine that is suspended: its monotonic time stands still."""

    def monotonic(self) -> float:
        return 0.0


class CountedIds:
    """Ids 1, 2, 3, … so that a run can be repeated and read."""

    def __init__(self) -> None:
        self._next = count(1)

    def fresh(self) -> str:
        return f"{next(self._next):032x}"

    def skip(self, to: int) -> None:
        """Go on from another number, as a run that met none of these ids."""
        self._next = count(to)

    def seed(self) -> int:
        return 7

    def uniform(self) -> float:
        return 0.5


class AtOnce:
    """An executor without threads: work is done where it is asked for, in its order."""

    def map(self, work: Callable[[T], U], items: Iterable[T]) -> Iterator[U]:
        return map(work, items)

    def ahead(self, items: Iterable[T]) -> Iterator[T]:
        return iter(items)


@dataclass(frozen=True)
class World:
    """Stores on a key-value store, a handle on them, and the clock that they read."""

    kv: Store = field(default_factory=lambda: open_memory("memory://"))
    clock: FakeClock = field(default_factory=FakeClock)
    ids: CountedIds = field(default_factory=CountedIds)
    blobs: OpenedBlobs = field(default_factory=OpenedBlobs)
    ranges: TreeCache = field(default_factory=TreeCache)
    """Shared by all processes of the world, to be quick: what it holds does not change in this world."""
    name: str = field(default_factory=lambda: f"world-{next(_worlds)}")

    def fork(self) -> World:
        """A copy of the records as they stand, over the same objects; only of a world in memory.

        What is cached is copied too: a token that is open here may be sealed with other records in each copy.
        """
        assert isinstance(self.kv, MemoryStore)
        partitions = {
            name: replace(partition, keys=[*partition.keys], values={**partition.values})
            for name, partition in self.kv._memory.partitions.items()
        }
        copied = MemoryStore(type(self.kv._memory)(partitions))
        ranges = TreeCache()
        for id, (value, size) in list(self.ranges._held.items()):
            ranges.put(id, value, size)
        return replace(self, kv=copied, ranges=ranges)

    def stores(self, kv: Store | None = None) -> Stores:
        """Another process on the same data: no record cached, perhaps on a wrapper of the store."""
        return Stores(
            kv=kv or self.kv,
            blobs=self.blobs,
            clock=self.clock,
            ids=self.ids,
            executor=AtOnce(),
            cutting=TINY,
            sizes=TINY_SIZES,
            ranges=self.ranges,
        )

    def graveler(self, kv: Store | None = None) -> Graveler:
        """A handle of another process."""
        return Graveler(self.stores(kv))

    def namespace(self, name: str = "data") -> str:
        """A storage namespace of this world."""
        return f"memory://{self.name}/{name}"

    def repository(self, name: str = "repo", *, adopt: bool = False) -> Repository:
        """A new repository."""
        return self.graveler().create_repository(name, self.namespace(name), adopt=adopt, ephemeral=True)

    def branch(self, kv: Store | None = None, name: str = "main", repo: str = "repo") -> Branch:
        """A branch, seen by another process."""
        return self.graveler(kv).repository(repo).branch(name)


def entry(number: int, mtime: int = 0) -> Entry:
    """An entry that is told from others by its number; the modification time changes nothing about that."""
    return Entry(
        address=f"data/{number}",
        size=number,
        checksum=f"sum{number}",
        mtime=START + timedelta(seconds=mtime),
        metadata={"n": str(number)} if number % 3 == 1 else {},
        content_type=None if number % 2 else "text/plain",
    )
