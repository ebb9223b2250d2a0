"""The server goes away in the middle of work, politely and not, and comes back."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, sleep

import pytest

from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv import bulk
from graveler_core.kv.backends.postgresql import open_postgresql
from graveler_core.kv.store import Store
from tests.postgresql_server import OwnServer, own_server

MANY = 20
PATIENCE = 120
"""Seconds until a test that makes no progress is given up."""


@pytest.fixture(scope="module")
def server() -> Iterator[OwnServer]:
    with own_server() as started:
        yield started


@dataclass
class Worker:
    """Appends marks to a list that all workers share, each by one swap, and remembers what it was told."""

    store: Store
    name: str
    acknowledged: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    read: int = 0
    stopped: bool = False

    def run(self) -> None:
        number = 0
        while not self.stopped:
            mark = f"{self.name}{number}"
            try:
                found = self.store.get(b"p", b"list")
                self.read += 1
                assert found is not None
                self.store.set_if(b"p", b"list", found.value + f"{mark} ".encode(), found.predicate)
                self.acknowledged.append(mark)
                number += 1
            except OutcomeUnknown:
                self.unknown.append(mark)
                number += 1
            except PredicateFailed:
                continue
            except (Unavailable, SlowDown):
                # Nothing was written, so the same mark may be tried again.
                sleep(0.01)


def progressed(workers: list[Worker]) -> None:
    """Waits until every worker has read and written some more."""
    before = [(len(worker.acknowledged), worker.read) for worker in workers]
    deadline = monotonic() + PATIENCE
    for worker, (written, read) in zip(workers, before, strict=True):
        while len(worker.acknowledged) < written + MANY or worker.read < read + MANY:
            assert monotonic() < deadline, f"{worker.name} makes no progress"
            sleep(0.01)


def test_swaps_are_neither_lost_nor_doubled(server: OwnServer) -> None:
    """Reads and writes resume by themselves; a swap in flight is done once, or not, and is never reported wrongly."""
    store = open_postgresql(server.url)
    store.set(b"p", b"list", b"")
    workers = [Worker(store, name) for name in "abcd"]
    with ThreadPoolExecutor(len(workers)) as pool:
        running = [pool.submit(worker.run) for worker in workers]
        try:
            for mode in ("fast", "immediate", "fast", "immediate"):
                progressed(workers)
                server.stop(mode)
                server.start()
            progressed(workers)
        finally:
            for worker in workers:
                worker.stopped = True
        for answer in running:
            answer.result()
    found = store.get(b"p", b"list")
    assert found is not None
    written = Counter(found.value.decode().split())
    store.close()
    acknowledged = {mark for worker in workers for mark in worker.acknowledged}
    unknown = {mark for worker in workers for mark in worker.unknown}
    assert set(written.values()) == {1}
    assert acknowledged <= set(written)
    assert set(written) - acknowledged <= unknown


def test_a_server_that_is_away(server: OwnServer) -> None:
    """Nothing is sent, so no outcome is unknown; the store that was open before works again afterwards."""
    store = open_postgresql(server.url)
    store.set(b"p", b"k", b"old")
    found = store.get(b"p", b"k")
    assert found is not None
    server.stop("fast")
    try:
        with pytest.raises(Unavailable):
            store.get(b"p", b"k")
        with pytest.raises(Unavailable):
            store.set_if(b"p", b"k", b"new", found.predicate)
        with pytest.raises(Unavailable):
            open_postgresql(server.url)
    finally:
        server.start()
    store.set_if(b"p", b"k", b"new", found.predicate)
    assert [row.value for row in store.scan(b"p", prefix=b"k")] == [b"new"]
    store.close()


def test_a_scan_goes_on_behind_a_restart(server: OwnServer) -> None:
    """It keeps no transaction between its pages."""
    store = open_postgresql(server.url)
    bulk.set_many(store, [(b"q", b"%04d" % n, b"v" * 50_000) for n in range(200)])
    rows = store.scan(b"q")
    seen = [next(rows).key]
    server.stop("immediate")
    server.start()
    seen += [row.key for row in rows]
    assert seen == [b"%04d" % n for n in range(200)]
    store.close()
