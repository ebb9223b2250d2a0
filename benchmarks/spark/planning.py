"""What the driver does of a commit: what it plans and sends, what comes back to it, and what it makes of that.

The parts are made in one process beside it, without Spark: so all that this process takes is the driver's own, and
most of that is what no number of machines makes faster.
"""

from __future__ import annotations

import multiprocessing
import pickle
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from benchmarks.scenario import Clocked, Measured, Place, scenario
from benchmarks.spark.engines import WARM, stage_numbers, stage_warm
from benchmarks.spark.processes import DRIVER, Used, spent
from graveler_core.stores import Stores
from jobs.connection import Connection, opened
from jobs.piecework import packed

T = TypeVar("T")
U = TypeVar("U")
_PIECES = (2, 8, 32)


@dataclass(slots=True)
class Beside:
    """A `Cluster` of one process beside this one, that weighs what it is sent and what it gives back."""

    connection: Connection
    pool: ProcessPoolExecutor
    into: int = 2
    asked: Clocked = field(default_factory=Clocked)
    """From when pieces were asked for to when they were sent."""
    work: int = 0
    """Of the last call: bytes that go to each worker."""
    items: list[int] = field(default_factory=list)
    """Of the last call: bytes of each piece,"""
    results: list[int] = field(default_factory=list)
    """and of what came of it."""
    _begun: tuple[float, float] = (0.0, 0.0)

    def pieces(self, rows: int) -> int:
        self._begun = time.perf_counter(), time.process_time()
        return self.into

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        function, _ = packed(work)
        sent = [packed(item)[0] for item in items]
        self.work, self.items, self.results = len(function), [len(item) for item in sent], []
        wall, cpu = time.perf_counter() - self._begun[0], time.process_time() - self._begun[1]
        self.asked = Clocked((wall * 1e3,), (cpu * 1e3,))
        for item in sent:
            result = self.pool.submit(_worked, self.connection, function, item).result()
            self.results.append(len(result))
            yield pickle.loads(result)

    def sort(self, *_: object) -> Iterator[U]:
        raise AssertionError("a commit sorts nothing")


def _worked(connection: Connection, function: bytes, item: bytes) -> bytes:
    return pickle.dumps(pickle.loads(function)(opened(connection), pickle.loads(item)))


def staged_for_each(place: Place) -> None:
    """All entries staged on `main` in bulk, in a repository for each number of pieces; few in one to begin with."""
    with place.connect() as g:
        stage_warm(place.part(WARM).create(g))
        for pieces in _PIECES:
            stage_numbers(place.part(f"{pieces}").create(g).branch("main"), place.size)


@scenario("spark", staged_for_each)
def plan(place: Place) -> Iterator[Measured]:
    """A commit in 2, 8 and 32 pieces."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        beside = Beside(Connection(place.store), pool)
        with beside.connection.connect(beside) as g:
            place.part(WARM).repo(g).branch(WARM).commit("Begin")
            for beside.into in _PIECES:
                main = place.part(f"{beside.into}").repo(g).branch("main")
                taken = spent(partial(main.commit, "All")).used[DRIVER]
                yield from _rows(f"commit in {beside.into} pieces", beside, taken)


def _rows(name: str, beside: Beside, driver: Used) -> Iterator[Measured]:
    yield Measured(f"{name}: pieces", "pieces", (len(beside.items),))
    yield beside.asked.named(f"{name}: to plan it")
    yield Measured(f"{name}: the driver's part", "CPU s", (driver.cpu,), peak_mib=driver.peak_mib)
    yield Measured(f"{name}: sent to each worker", "B", (beside.work,))
    yield Measured(f"{name}: sent for a piece", "B", tuple(beside.items))
    yield Measured(f"{name}: sent in all", "B", (beside.work + sum(beside.items),))
    yield Measured(f"{name}: given back for a piece", "kB", tuple(size / 1e3 for size in beside.results))
