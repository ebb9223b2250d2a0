"""Who does the work: the engine alone, and Spark on some masters, one after the other.

Each has a repository of its own, of one seed: equal content makes equal trees. Each works in a process of its own, with
its Java and its workers, which ends before the next one begins. Before it is measured, each makes a small commit in
many pieces: then the session has begun, the workers run, and all is imported.
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
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.clock import RandomIds
from graveler_core.wiring import open_stores
from jobs.cluster import SparkCluster
from jobs.connection import Connection
from jobs.report import Report
from jobs.session import local_settings, pin_worker_interpreter
from jobs.sizes import ROWS_PER_PIECE

WARM = "warm"
"""A branch with entries staged to begin with."""
_WARM_LAYERS, _WARM_ROWS = 16, 1_000
LEAST_SECONDS = 0.01
"""What Linux counts processor time in."""
_BATCH = 1_000_000
_MASTERS = ("local[1]", "local[2]")
_OF_THIS_MACHINE = ("spark.master", "spark.driver.host", "spark.driver.bindAddress")
P = ParamSpec("P")
R = TypeVar("R")


class Differs(Exception):
    """Two engines made different things of the same."""


class NotOnSpark(Exception):
    """What was to be measured on Spark was done in the driver."""


@dataclass(frozen=True, slots=True)
class Engine:
    """The engine alone, or Spark on a master."""

    master: str = ""

    @property
    def name(self) -> str:
        return self.master or "alone"

    def place(self, place: Place) -> Place:
        """Where it works: a repository beside that of the others."""
        return place.part(re.sub("[^0-9a-z]+", "-", self.name)[-20:].strip("-"))


@dataclass(frozen=True, slots=True)
class Task:
    """What every engine does. The functions are pickled: they are those of a module, or partial ones."""

    name: str
    rows: int
    """Entries that it works on."""
    work: Callable[[Repository], object]
    found: Callable[[Repository, Any], str]
    """What of its result must be the same for all."""


def engines(place: Place) -> list[Engine]:
    """The engine alone first."""
    return [Engine(), *map(Engine, [place.cluster] if place.cluster else _MASTERS)]


class _OneSeed(RandomIds):
    """All repositories cut at the same keys."""

    def seed(self) -> int:
        return 7


def filled(place: Place, fill: Callable[[Repository], None]) -> None:
    """Make the repository of each engine, its small branch to begin with, and what `fill` puts into it."""
    for engine in engines(place):
        own = engine.place(place)
        with Graveler(replace(open_stores(own.store), ids=_OneSeed())) as g:
            repo = own.create(g)
            stage_warm(repo)
            fill(repo)


def stage_warm(repo: Repository) -> None:
    """Make the branch to begin with: what is staged there can be cut into 16 pieces."""
    branch = repo.create_branch(WARM, source="main")
    for layer in range(_WARM_LAYERS):
        stage_numbers(branch, _WARM_ROWS, first=layer * _WARM_ROWS)


def stage_numbers(branch: Branch, count: int, step: int = 1, first: int = 0) -> None:
    """Stage the entries of so many numbers in bulk, a million a call."""
    for start in range(0, count, _BATCH):
        numbers = np.arange(start, min(start + _BATCH, count))
        branch.stage_many(entries.entries(numbers * step + first))


def by_each(place: Place, task: Task) -> Iterator[Measured]:
    """The task by each engine: what it took, the rows for a second of the processor, and how that compares.

    Raises:
        Differs: they found different things.
        NotOnSpark: a cluster was not given the work.
    """
    first, *others = engines(place)
    alone, expected = in_a_process(_done, first, place, task)
    yield from per_core(f"{task.name}, {first.name}", task.rows, alone)
    for engine in others:
        taken, found = in_a_process(_done, engine, place, task)
        require_equal(task.name, engine.name, found, expected)
        yield from per_core(f"{task.name}, {engine.name}", task.rows, taken, ("alone", alone))


def require_equal(task: str, who: str, found: object, expected: object) -> None:
    """Raise `Differs` unless who did a task found what was found first."""
    if found != expected:
        raise Differs(f"{task}: {who} found {found}, where {expected} was found first")


def per_core(name: str, rows: int, taken: Spent, beside: tuple[str, Spent] | None = None) -> Iterator[Measured]:
    """What a call took, its rows for a second of the processor, and these as a part of somebody else's."""
    yield from taken.rows(name)
    cpu = max(taken.cpu, LEAST_SECONDS)
    yield Measured(f"{name}: rows per core", "per s", (rows / cpu,))
    if beside is not None:
        who, other = beside
        yield Measured(f"{name}: rows per core", f"of {who}", (max(other.cpu, LEAST_SECONDS) / cpu,))


def in_a_process(work: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Call it in a process of its own, which ends."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *args, **kwargs).result()


@contextmanager
def session(master: str) -> Iterator[SparkSession]:
    """A Spark session; Java has ended when this does. What runs elsewhere takes its settings from Spark's own files."""
    os.dup2(2, 1)  # standard output is for results
    pin_worker_interpreter()
    settings = local_settings()
    if not master.startswith("local"):
        settings = {name: value for name, value in settings.items() if name not in _OF_THIS_MACHINE}
    spark = SparkSession.builder.config(map={**settings, "spark.master": master}).getOrCreate()
    java = spark.sparkContext._gateway.proc  # type: ignore[union-attr]  # Spark tells of it nowhere else
    try:
        yield spark
    finally:
        spark.stop()
        java.stdin.close()
        java.wait()


def connected(
    place: Place, spark: SparkSession | None, rows_per_piece: int = ROWS_PER_PIECE, report: Report | None = None
) -> Graveler:
    """The store; with Spark, all work is given to it, and `report` is told."""
    if spark is None:
        return place.connect()
    connection = Connection(place.store)
    return connection.connect(SparkCluster(spark, connection, rows_per_piece, 1, report or Report()))


def warm_up(place: Place, spark: SparkSession | None) -> None:
    """Commit what is staged to begin with."""
    with connected(place, spark, _WARM_ROWS) as g:
        place.repo(g).branch(WARM).commit("Begin")


def _done(engine: Engine, place: Place, task: Task) -> tuple[Spent, str]:
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
    """Of a result: the tree at a ref, to be compared."""
    return partial(_tree, ref)


def _tree(ref: str, repo: Repository, result: object) -> str:
    return repo.at(ref).tree_id()
