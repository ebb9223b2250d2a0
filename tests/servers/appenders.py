"""Threads that append to one list by swaps, while a test ends and starts the server below them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import monotonic, sleep

from graveler_core.errors import OutcomeUnknown, PredicateFailed, SlowDown, Unavailable
from graveler_core.kv.store import Store

MANY = 20
PATIENCE = 120
"""Seconds until a test that makes no progress is given up."""


@dataclass
class Appender:
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


def _progressed(workers: Sequence[Appender]) -> None:
    """Waits until every worker has read some more, and all together have written some more.

    A worker may lose every race against the others for a long time.
    """
    before = [worker.read for worker in workers]
    goal, deadline = _written(workers) + MANY * len(workers), monotonic() + PATIENCE
    for worker, read in zip(workers, before, strict=True):
        while worker.read < read + MANY:
            assert monotonic() < deadline, f"{worker.name} reads nothing"
            sleep(0.01)
    while _written(workers) < goal:
        assert monotonic() < deadline, "nobody writes"
        sleep(0.01)


def _written(workers: Sequence[Appender]) -> int:
    return sum(len(worker.acknowledged) for worker in workers)


def append_during(store: Store, interruptions: Sequence[Callable[[], None]]) -> None:
    """Append from four threads, with progress before, between and after the interruptions.

    An acknowledged swap is done once. One with an unknown outcome is done once or not, and all others are not done.
    """
    store.set(b"p", b"list", b"")
    workers = [Appender(store, name) for name in "abcd"]
    with ThreadPoolExecutor(len(workers)) as pool:
        running = [pool.submit(worker.run) for worker in workers]
        try:
            for interrupt in interruptions:
                _progressed(workers)
                interrupt()
            _progressed(workers)
        finally:
            for worker in workers:
                worker.stopped = True
        for answer in running:
            answer.result()
    found = store.get(b"p", b"list")
    assert found is not None
    written = Counter(found.value.decode().split())
    acknowledged = {mark for worker in workers for mark in worker.acknowledged}
    unknown = {mark for worker in workers for mark in worker.unknown}
    assert set(written.values()) == {1}
    assert acknowledged <= set(written)
    assert set(written) - acknowledged <= unknown
