"""Runs of a migration into which tests step: fresh stores over one source, and every call of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from unittest.mock import patch

from graveler_core.blobs.port import Blobs, BlobStores, Foreign
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.backends.memory import MemoryStore, open_memory
from graveler_core.model.address import Namespace
from graveler_core.testing.counting_blobs import CountingBlobs
from graveler_core.transfer import migrated
from graveler_core.transfer.migration import source, write
from graveler_core.transfer.migration.report import Migrated
from tests.examples import places
from tests.integration.migration.histories import Lake
from tests.unit.engine.interposed import WRITES, Crash, Interposed
from tests.unit.engine.world import FakeClock, World


@contextmanager
def small_pages() -> Iterator[None]:
    """So that a small source makes several batches, pages and files."""
    with (
        patch.object(migrated, "BATCH_COMMITS", 2),
        patch.object(write, "SEGMENT_ROWS", 3),
        patch.object(source, "PAGE_ROWS", 3),
        patch.object(source, "IDS_AT_ONCE", 2),
    ):
        yield


def elsewhere(lake: Lake) -> Lake:
    """An empty store over the same source and the same objects."""
    return replace(lake, world=replace(lake.world, kv=open_memory("memory://"), clock=FakeClock()))


def run(lake: Lake, kv: Interposed) -> Migrated:
    """A run whose calls go through a store that tests step into."""
    return lake.graveler_on(kv).migrate_from(lake.url)


def each_call(lake: Lake, act: Callable[[Lake, Interposed, int], object], *, writes: bool = False) -> int:
    """Act at each call of a run, or at each that writes, in CI at a part of them; gives how many there are.

    A death before a read leaves in the store what one before the next write leaves.
    """
    whole = elsewhere(lake)
    counted = Interposed(whole.world.kv)
    assert run(whole, counted).good
    numbers = [number for number, verb in enumerate(counted.verbs) if not writes or verb in WRITES]
    for number in (numbers[place] for place in places(len(numbers))):
        there = elsewhere(lake)
        act(there, Interposed(there.world.kv), number)
    return len(numbers)


def rows(world: World) -> dict[bytes, dict[bytes, bytes]]:
    """All that a store holds."""
    assert isinstance(world.kv, MemoryStore)
    partitions = sorted(world.kv._memory.partitions)
    found = {name: {row.key: row.value for row in world.kv.scan(name)} for name in partitions}
    return {name: held for name, held in found.items() if held}


@dataclass
class FailingBlobs:
    """Storage namespaces in which a process dies instead of a call."""

    inner: BlobStores
    at_call: int = -1
    calls: int = 0
    opened: dict[str, CountingBlobs] = field(default_factory=dict)

    def at(self, namespace: str) -> Blobs:
        if namespace not in self.opened:
            self.opened[namespace] = CountingBlobs(self.inner.at(namespace), self._note)
        return self.opened[namespace]

    def foreign(self, place: Namespace) -> Foreign:
        return self.inner.foreign(place)

    def graveler(self, lake: Lake) -> Graveler:
        """A process on these."""
        stores: Any = replace(lake.world.stores(), blobs=self)
        return Graveler(stores)

    def _note(self, verb: str, address: str) -> None:
        self.calls += 1
        if self.calls - 1 == self.at_call:
            raise Crash
