"""Work of the driver in a commit: the plan, the data sent to workers, their results, and the final commit.

A second process does the tasks, without Spark. So the time of this process is the time of the driver. More machines
cannot reduce most of it.
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
from graveler.spark.connection import Connection, opened
from graveler.spark.worker import packed
from graveler_core.stores import Stores

T = TypeVar("T")
U = TypeVar("U")
_TASKS = (2, 8, 32)


@dataclass(slots=True)
class Beside:
    """A `Cluster` of one additional process. It measures the size of the data that is sent and returned."""

    connection: Connection
    pool: ProcessPoolExecutor
    into: int = 2
    asked: Clocked = field(default_factory=Clocked)
    """Time between the request for tasks and the moment when all tasks are serialized."""
    work: int = 0
    """Bytes of the last call that go to each worker."""
    items: list[int] = field(default_factory=list)
    """Bytes of each task of the last call."""
    results: list[int] = field(default_factory=list)
    """Bytes of the result of each task of the last call."""
    _begun: tuple[float, float] = (0.0, 0.0)

    def tasks(self, rows: int) -> int:
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
        raise AssertionError("a commit does not sort")


def _worked(connection: Connection, function: bytes, item: bytes) -> bytes:
    return pickle.dumps(pickle.loads(function)(opened(connection), pickle.loads(item)))


def staged_for_each(place: Place) -> None:
    """Create a repository with staged entries for each number of tasks, and a small repository for the warm-up."""
    with place.connect() as g:
        stage_warm(place.part(WARM).create(g))
        for tasks in _TASKS:
            stage_numbers(place.part(f"{tasks}").create(g).branch("main"), place.size)


@scenario("spark", staged_for_each)
def plan(place: Place) -> Iterator[Measured]:
    """Commit with 2, 8 and 32 tasks."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        beside = Beside(Connection(place.store), pool)
        with beside.connection.connect(beside) as g:
            place.part(WARM).repo(g).branch(WARM).commit("Begin")
            for beside.into in _TASKS:
                main = place.part(f"{beside.into}").repo(g).branch("main")
                taken = spent(partial(main.commit, "All")).used[DRIVER]
                yield from _rows(f"commit in {beside.into} tasks", beside, taken)


def _rows(name: str, beside: Beside, driver: Used) -> Iterator[Measured]:
    yield Measured(f"{name}: tasks", "tasks", (len(beside.items),))
    yield beside.asked.named(f"{name}: planning")
    yield Measured(f"{name}: driver", "CPU s", (driver.cpu,), peak_mib=driver.peak_mib)
    yield Measured(f"{name}: sent to each worker", "B", (beside.work,))
    yield Measured(f"{name}: sent per task", "B", tuple(beside.items))
    yield Measured(f"{name}: sent in total", "B", (beside.work + sum(beside.items),))
    yield Measured(f"{name}: returned per task", "kB", tuple(size / 1e3 for size in beside.results))
