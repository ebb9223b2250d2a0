"""The server is killed in the middle of work, and comes back: what was acknowledged is there, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from time import monotonic, sleep

import pytest

from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv import bulk, open_store
from graveler_core.kv.store import Store
from tests.servers.process import ServerProcess

MANY = 20
PATIENCE = 120
"""Seconds until a test that makes no progress is given up."""


@dataclass(frozen=True)
class Killed:
    """A server of the test's own, and the URL of an empty store on it."""

    server: ServerProcess
    url: str


def mysql(stack: ExitStack) -> Killed:
    from tests.servers.mariadb import fresh_database, mariadb_server

    server = stack.enter_context(mariadb_server())
    return Killed(server, fresh_database(server))


def redis(stack: ExitStack) -> Killed:
    from tests.servers.redis import redis_server

    server = stack.enter_context(redis_server())
    return Killed(server, f"redis://127.0.0.1:{server.port}")


SERVERS = {"mysql": mysql, "redis": redis}


@pytest.fixture(scope="module", params=SERVERS)
def killed(request: pytest.FixtureRequest) -> Iterator[Killed]:
    with ExitStack() as stack:
        yield SERVERS[request.param](stack)


@dataclass
class Worker:
    """Appends marks to a list that all workers share, each by one swap, and remembers what it was told."""

    store: Store
    name: str
    acknowledged: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    stopped: bool = False

    def run(self) -> None:
        number = 0
        while not self.stopped:
            mark = f"{self.name}{number}"
            try:
                found = self.store.get(b"p", b"list")
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
    """Waits until every worker has written some more."""
    before = [len(worker.acknowledged) for worker in workers]
    deadline = monotonic() + PATIENCE
    for worker, written in zip(workers, before, strict=True):
        while len(worker.acknowledged) < written + MANY:
            assert monotonic() < deadline, f"{worker.name} makes no progress"
            sleep(0.01)


def test_swaps_are_neither_lost_nor_doubled(killed: Killed) -> None:
    """Two handles with two threads each. A swap in flight is done once, or not, and is never reported wrongly."""
    stores = [open_store(killed.url) for _ in range(2)]
    stores[0].set(b"p", b"list", b"")
    workers = [Worker(stores[number % 2], name) for number, name in enumerate("abcd")]
    with ThreadPoolExecutor(len(workers)) as pool:
        running = [pool.submit(worker.run) for worker in workers]
        try:
            for _ in range(3):
                progressed(workers)
                killed.server.kill()
                killed.server.start()
            progressed(workers)
        finally:
            for worker in workers:
                worker.stopped = True
        for answer in running:
            answer.result()
    found = stores[0].get(b"p", b"list")
    assert found is not None
    written = Counter(found.value.decode().split())
    for store in stores:
        store.close()
    acknowledged = {mark for worker in workers for mark in worker.acknowledged}
    unknown = {mark for worker in workers for mark in worker.unknown}
    assert set(written.values()) == {1}
    assert acknowledged <= set(written)
    assert set(written) - acknowledged <= unknown


def test_a_server_that_is_away(killed: Killed) -> None:
    """Nothing is sent, so no outcome is unknown; the store that was open before works again afterwards."""
    store = open_store(killed.url)
    store.set(b"p", b"k", b"old")
    found = store.get(b"p", b"k")
    assert found is not None
    killed.server.stop()
    try:
        with pytest.raises(Unavailable):
            store.get(b"p", b"k")
        with pytest.raises(Unavailable):
            store.set_if(b"p", b"k", b"new", found.predicate)
        with pytest.raises(Unavailable):
            open_store(killed.url)
    finally:
        killed.server.start()
    store.set_if(b"p", b"k", b"new", found.predicate)
    assert [row.value for row in store.scan(b"p", prefix=b"k")] == [b"new"]
    store.close()


def test_a_scan_goes_on_behind_a_restart(killed: Killed) -> None:
    """It keeps nothing at the server between its pages."""
    store = open_store(killed.url)
    bulk.set_many(store, [(b"q", b"%04d" % n, b"v" * 50_000) for n in range(200)])
    rows = store.scan(b"q")
    seen = [next(rows).key]
    killed.server.kill()
    killed.server.start()
    seen += [row.key for row in rows]
    assert seen == [b"%04d" % n for n in range(200)]
    store.close()
