"""Scenarios: a scenario is a set-up and a measurement, and a suite is a set of scenarios.

The decorator `scenario` registers a function in a suite. The scenarios of a suite are in the module or package
`benchmarks.<suite>`. Set-up and measurement run in separate processes and share only the store. So the measuring
process starts with cold caches, and its peak memory is that of the measured work.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from itertools import chain
from typing import Any, Literal

import graveler_core as graveler
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True)
class Place:
    """Stores, repository and size of one run of a scenario."""

    store: str
    """URL of the key-value store."""
    data: str
    """Storage namespace of the run's repository."""
    repository: str
    """Name of the repository, unique to the run."""
    size: int
    """Number of entries, or of the unit in `Scenario.counts`."""
    commits: int | None = None
    """Number of commits for scenarios that make many; `None` means the scenario's default."""
    cluster: str = ""
    """Spark master for scenarios that use Spark; empty means the scenario's default masters."""

    def connect(self) -> Graveler:
        """Connect to the stores of the run."""
        return graveler.connect(self.store)

    def create(self, g: Graveler) -> Repository:
        """Create the repository of the run; the set-up calls this."""
        return g.create_repository(self.repository, storage_namespace=self.data)

    def repo(self, g: Graveler) -> Repository:
        """Return the repository of the run."""
        return g.repository(self.repository)

    def part(self, name: str) -> Place:
        """Return a place for an additional repository of the same run, with its own name and storage namespace."""
        return replace(self, repository=f"{self.repository}-{name}", data=f"{self.data}/{name}")


@dataclass(frozen=True, slots=True)
class Measured:
    """Repeated measurements of one thing."""

    name: str
    unit: str
    values: tuple[float, ...]
    cpu: tuple[float, ...] = ()
    """CPU time of each measurement in milliseconds, summed over all threads; empty if the values are not times."""
    peak_mib: float = 0.0
    """Peak memory of the process that did the work; 0 means the measuring process."""

    @staticmethod
    def of(fields: dict[str, Any]) -> Measured:
        """Create a measurement from the output of `fields`, after a round trip through JSON."""
        values, cpu = tuple(fields["values"]), tuple(fields["cpu"])
        return Measured(fields["name"], fields["unit"], values, cpu, fields["peak_mib"])

    def fields(self) -> dict[str, Any]:
        return asdict(self)


Prepare = Callable[[Place], None]
Measure = Callable[[Place], Iterator[Measured]]


@dataclass(frozen=True, slots=True)
class Scenario:
    """A set-up and a measurement, with the sizes and the number of runs."""

    name: str
    prepare: Prepare
    measure: Measure
    sizes: tuple[int, ...]
    runs: int
    counts: str
    """Unit of the sizes, in the plural."""


SUITES: dict[str, dict[str, Scenario]] = {}


def scenario(
    suite: str, prepare: Prepare, *, sizes: tuple[int, ...] = (1_000_000,), runs: int = 1, counts: str = "entries"
) -> Callable[[Measure], Measure]:
    """Register a measurement under its function's name.

    Args:
        suite: Name of the suite.
        prepare: Set-up, which runs in an earlier process and is not measured.
        sizes: Sizes to measure, in the unit `counts`.
        runs: Number of repetitions of set-up and measurement, for work that can run only once after its set-up.
        counts: Unit of the sizes, in the plural.

    Returns:
        A decorator that registers the measurement and returns it unchanged.
    """

    def register(measure: Measure) -> Measure:
        name = measure.__name__
        SUITES.setdefault(suite, {})[name] = Scenario(name, prepare, measure, sizes, runs, counts)
        return measure

    return register


def suite(name: str) -> dict[str, Scenario]:
    """Import `benchmarks.<name>` and return its scenarios by name."""
    importlib.import_module(f"benchmarks.{name}")
    return SUITES[name]


@dataclass(frozen=True, slots=True)
class Clocked:
    """Wall-clock time and CPU time of calls, in milliseconds."""

    wall: tuple[float, ...] = ()
    cpu: tuple[float, ...] = ()

    def __getitem__(self, part: slice) -> Clocked:
        return Clocked(self.wall[part], self.cpu[part])

    def __add__(self, other: Clocked) -> Clocked:
        return Clocked(self.wall + other.wall, self.cpu + other.cpu)

    @classmethod
    def joined(cls, parts: Iterable[Clocked]) -> Clocked:
        """Return the times of many parts, in their order. Adding them one by one would take quadratic time."""
        held = list(parts)
        wall, cpu = (each.wall for each in held), (each.cpu for each in held)
        return cls(tuple(chain.from_iterable(wall)), tuple(chain.from_iterable(cpu)))

    def named(self, name: str) -> Measured:
        """Return the times as a measurement with a name."""
        return Measured(name, "ms", self.wall, self.cpu)


def clocked(work: Callable[[], object], repeats: int = 1) -> Clocked:
    """Call `work` `repeats` times and return the time of each call."""
    wall, cpu = [], []
    for _ in range(repeats):
        used, begun = time.process_time(), time.perf_counter()
        work()
        wall.append((time.perf_counter() - begun) * 1e3)
        cpu.append((time.process_time() - used) * 1e3)
    return Clocked(tuple(wall), tuple(cpu))
