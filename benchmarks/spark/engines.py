"""Engines that do the work: one process without Spark, and Spark on several masters, one after the other.

Each engine has its own repository. All repositories have the same seed, so equal content gives equal trees. Each engine
runs in its own process, with its own JVM and Python workers, which ends before the next engine starts. Before the
measurement, each engine makes a small commit with many tasks. After it the session and the workers run, and all
modules are imported.
"""

from __future__ import annotations

import multiprocessing
import os
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ParamSpec, TypeVar

import numpy as np
from pyspark.sql import SparkSession

from benchmarks import entries
from benchmarks.scenario import Measured, Place
from benchmarks.spark.processes import Spent, spent
from graveler.spark.cluster import SparkCluster
from graveler.spark.connection import Connection
from graveler.spark.report import Report
from graveler.spark.session import local_settings, pin_worker_interpreter
from graveler.spark.sizes import ROWS_PER_TASK
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.clock import RandomIds
from graveler_core.wiring.opening import open_stores

WARM = "warm"
"""Branch with staged entries for the warm-up commit."""
_WARM_LAYERS, _WARM_ROWS = 16, 1_000
LEAST_SECONDS = 0.01
"""Resolution in seconds of the CPU times that Linux reports."""
_BATCH = 1_000_000
_MASTERS = ("local[1]", "local[2]")
_OF_THIS_MACHINE = ("spark.master", "spark.driver.host", "spark.driver.bindAddress")
P = ParamSpec("P")
R = TypeVar("R")


class ResultsDiffer(Exception):
    """Error: two engines returned different results for the same work."""


class NotOnSpark(Exception):
    """Error: work that was to be measured on Spark was done in the driver."""


@dataclass(frozen=True, slots=True)
class Engine:
    """One process without Spark, or Spark on a master."""

    master: str = ""
    """Spark master; empty means one process without Spark."""

    @property
    def name(self) -> str:
        return self.master or "alone"

    def place(self, place: Place) -> Place:
        """Return the place of the engine's own repository."""
        return place.part(re.sub("[^0-9a-z]+", "-", self.name)[-20:].strip("-"))


@dataclass(frozen=True, slots=True)
class EngineTask:
    """Work that every engine does. The functions are pickled, so use module-level functions or partials of them."""

    name: str
    rows: int
    """Number of entries that the work processes."""
    work: Callable[[Repository], object]
    found: Callable[[Repository, Any], str]
    """Function of the repository and the result that must return the same text for all engines."""


def engines(place: Place) -> list[Engine]:
    """Return the engines to compare. The first one is the process without Spark."""
    return [Engine(), *map(Engine, [place.cluster] if place.cluster else _MASTERS)]


class _OneSeed(RandomIds):
    """Ids with a fixed seed, so that the trees of all repositories have the same range boundaries."""

    def seed(self) -> int:
        return 7


def filled(place: Place, fill: Callable[[Repository], None]) -> None:
    """Create the repository of each engine, with the branch for the warm-up and the content that `fill` adds."""
    for engine in engines(place):
        own = engine.place(place)
        with Graveler(replace(open_stores(own.store), ids=_OneSeed())) as g:
            repo = own.create(g)
            stage_warm(repo)
            fill(repo)


def stage_warm(repo: Repository) -> None:
    """Create the branch for the warm-up. Its staged entries can be divided into 16 partitions."""
    branch = repo.create_branch(WARM, source="main")
    for layer in range(_WARM_LAYERS):
        stage_numbers(branch, _WARM_ROWS, first=layer * _WARM_ROWS)


def stage_numbers(branch: Branch, count: int, step: int = 1, first: int = 0) -> None:
    """Stage `count` entries in bulk, a million per call.

    Args:
        branch: Branch to stage on.
        count: Number of entries.
        step: Difference between the numbers of two neighbouring entries.
        first: Number of the first entry.
    """
    for start in range(0, count, _BATCH):
        numbers = np.arange(start, min(start + _BATCH, count))
        branch.stage_many(entries.entries(numbers * step + first))


def by_each(place: Place, task: EngineTask) -> Iterator[Measured]:
    """Run the task on each engine.

    Yields:
        Times, rows per second of CPU time, and their ratio to the process without Spark.

    Raises:
        ResultsDiffer: Two engines returned different results.
        NotOnSpark: The driver did the work instead of Spark.
    """
    first, *others = engines(place)
    alone, expected = in_a_process(_done, first, place, task)
    yield from per_core(f"{task.name}, {first.name}", task.rows, alone)
    for engine in others:
        taken, found = in_a_process(_done, engine, place, task)
        require_equal(task.name, engine.name, found, expected)
        yield from per_core(f"{task.name}, {engine.name}", task.rows, taken, ("alone", alone))


def require_equal(task: str, who: str, found: object, expected: object) -> None:
    """Raise `ResultsDiffer` unless the result of an engine equals the expected result."""
    if found != expected:
        raise ResultsDiffer(f"{task}: {who} returned {found}, expected {expected}")


def per_core(name: str, rows: int, taken: Spent, beside: tuple[str, Spent] | None = None) -> Iterator[Measured]:
    """Times of a call, its rows per second of CPU time, and the ratio to another engine.

    Args:
        name: Name of the rows.
        rows: Number of entries or rows that the call processed.
        taken: Time and memory of the call.
        beside: Name, time and memory of the engine to compare with.
    """
    yield from taken.rows(name)
    cpu = max(taken.cpu, LEAST_SECONDS)
    yield Measured(f"{name}: rows per core", "per s", (rows / cpu,))
    if beside is not None:
        who, other = beside
        yield Measured(f"{name}: rows per core", f"of {who}", (max(other.cpu, LEAST_SECONDS) / cpu,))


def in_a_process(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call a function in a new process, which ends with the call, and return its result."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """Run a Spark session. The JVM has ended when the context ends.

    With a local master, the settings of the library for one machine apply. Other masters use Spark's configuration
    files.
    """
    os.dup2(2, 1)  # send Spark's output to standard error, because standard output is for results
    pin_worker_interpreter()
    settings = local_settings()
    if not master.startswith("local"):
        settings = {name: value for name, value in settings.items() if name not in _OF_THIS_MACHINE}
    spark = SparkSession.builder.config(map={**settings, "spark.master": master}).getOrCreate()
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # Spark has no public attribute for the JVM process
    try:
        yield spark
    finally:
        spark.stop()
        java.stdin.close()
        java.wait()


def connected(
    place: Place, spark: SparkSession | None, rows_per_task: int = ROWS_PER_TASK, report: Report | None = None
) -> Graveler:
    """Connect to the stores. With a Spark session, Spark does all work that it can do.

    Args:
        place: Stores of the run.
        spark: Spark session, or `None` to work in this process.
        rows_per_task: Number of rows per partition.
        report: Receives facts about the work that Spark did.
    """
    if spark is None:
        return place.connect()
    connection = Connection(place.store)
    return connection.connect(SparkCluster(spark, connection, rows_per_task, 1, report or Report()))


def warm_up(place: Place, spark: SparkSession | None) -> None:
    """Commit the staged entries of the warm-up branch."""
    with connected(place, spark, _WARM_ROWS) as g:
        place.repo(g).branch(WARM).commit("Begin")


def _done(engine: Engine, place: Place, task: EngineTask) -> tuple[Spent, str]:
    own = engine.place(place)
    with session(engine.master) if engine.master else nullcontext() as spark:
        warm_up(own, spark)
        report = Report()
        with connected(own, spark, report=report) as g:
            repo, results = own.repo(g), list[object]()
            application = "" if spark is None else spark.sparkContext.applicationId
            taken = spent(lambda: results.append(task.work(repo)), application)
            if spark is not None and report.engine != "spark":
                raise NotOnSpark(f"{task.name}: {report.facts()}")
            return taken, task.found(repo, results[0])


def tree(ref: str) -> Callable[[Repository, object], str]:
    """Return a function that ignores the result and returns the tree id at a ref."""
    return partial(_tree, ref)


def _tree(ref: str, repo: Repository, result: object) -> str:
    return repo.at(ref).tree_id()
