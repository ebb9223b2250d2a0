"""What a suite is made of: scenarios, each a set-up and a measurement, run in processes of their own.

A scenario registers itself in its suite by a decorator; `benchmarks/<suite>.py` is a suite because it does so. Set-up
and measurement meet only in the store: the measuring process begins with cold caches, and its peak of memory is that
of what is measured.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import graveler_core as graveler
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Place:
    """Where one run of a scenario works, and how large."""

    store: str
    """URL of the key-value store."""
    data: str
    """Storage namespace of the run's repository."""
    repository: str
    """The repository's name; no other run has it."""
    size: int
    """Entries, or what else the scenario counts."""
    commits: int | None = None
    """Of a scenario that makes many in a row: in place of its own number."""
    cluster: str = ""
    """Of a scenario that works on Spark: the master, in place of its own ones."""

    def connect(self) -> Graveler:
        """The store."""
        return graveler.connect(self.store)

    def create(self, g: Graveler) -> Repository:
        """The run's repository, made by its set-up."""
        return g.create_repository(self.repository, storage_namespace=self.data)

    def repo(self, g: Graveler) -> Repository:
        """The run's repository."""
        return g.repository(self.repository)

    def part(self, name: str) -> Place:
        """Another repository of the run, beside others of its parts."""
        return replace(self, repository=f"{self.repository}-{name}", data=f"{self.data}/{name}")


@dataclass(frozen=True, slots=True)
class Measured:
    """Repeated measurements of one thing."""

    name: str
    unit: str
    values: tuple[float, ...]
    cpu: tuple[float, ...] = ()
    """Milliseconds of processor time of each, all threads together; empty where it is not the time that counts."""
    peak_mib: float = 0.0
    """Of the process that it was measured in; 0: that is the one that measures."""

    @staticmethod
    def of(fields: dict[str, Any]) -> Measured:
        """Back from `asdict` and JSON."""
        values, cpu = tuple(fields["values"]), tuple(fields["cpu"])
        return Measured(fields["name"], fields["unit"], values, cpu, fields["peak_mib"])

    def fields(self) -> dict[str, Any]:
        return asdict(self)


Prepare = Callable[[Place], None]
Measure = Callable[[Place], Iterator[Measured]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """One thing to measure, at some sizes, in a number of runs."""

    name: str
    prepare: Prepare
    measure: Measure
    sizes: tuple[int, ...]
    runs: int
    counts: str
    """What its sizes are numbers of."""


SUITES: dict[str, dict[str, Scenario]] = {}


def scenario(
    suite: str, prepare: Prepare, *, sizes: tuple[int, ...] = (1_000_000,), runs: int = 1, counts: str = "entries"
) -> Callable[[Measure], Measure]:
    """Register a measurement under its function's name.

    Args:
        suite: The suite that it belongs to.
        prepare: Its set-up, run in a process before it; not measured.
        sizes: Entries, or what `counts` says: one row of results each.
        runs: Set-ups and measurements from the beginning; for what can be measured only once after its set-up.
    """

    def register(measure: Measure) -> Measure:
        name = measure.__name__
        SUITES.setdefault(suite, {})[name] = Scenario(name, prepare, measure, sizes, runs, counts)
        return measure

    return register


def suite(name: str) -> dict[str, Scenario]:
    """The scenarios of `benchmarks/<name>.py`, by name."""
    importlib.import_module(f"benchmarks.{name}")
    return SUITES[name]


@dataclass(frozen=True, slots=True)
class Clocked:
    """Milliseconds of some calls, by the clock and of the processor."""

    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()

    def __getitem__(self, part: slice) -> Clocked:
        return Clocked(self.wall[part], self.cpu[part])

    def __add__(self, other: Clocked) -> Clocked:
        return Clocked(self.wall + other.wall, self.cpu + other.cpu)

    def named(self, name: str) -> Measured:
        """As a measurement."""
        return Measured(name, "ms", self.wall, self.cpu)


def clocked(work: Callable[[], object], repeats: int = 1) -> Clocked:
    """Call it so many times."""
    wall, cpu = [], []
    for _ in range(repeats):
        used, begun = time.process_time(), time.perf_counter()
        work()
        wall.append((time.perf_counter() - begun) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
    return Clocked(tuple(wall), tuple(cpu))
