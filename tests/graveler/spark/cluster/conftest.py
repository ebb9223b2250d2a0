"""A cluster for the tests that need one, a PostgreSQL and a namespace for each of them, and drivers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.standalone import Machines, Standalone, standalone
from graveler_core.wiring.opening import open_stores
from tests.graveler.spark.cluster.driver import Orders
from tests.graveler.spark.cluster.lakes import Lake
from tests.graveler.spark.cluster.marks import PATIENCE, Marks, alive, await_

ROOT = Path(__file__).parents[4]
TWO = Machines(count=2, cores=2, memory="2g")
"""So that two drivers have room, and copies of tasks too."""


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Standalone]:
    """Two machines of two cores, which have the project."""
    with standalone(tmp_path_factory.mktemp("cluster") / "spark", TWO, {"PYTHONPATH": str(ROOT)}) as running:
        yield running
    assert not left_running(running.directory)


@pytest.fixture
def lake(postgresql_url: str, tmp_path: Path) -> Iterator[Lake]:
    stores = open_stores(postgresql_url)
    yield Lake.new(stores, (tmp_path / "data").as_uri())
    stores.close()


@dataclass
class Driver:
    """A driver at work."""

    process: subprocess.Popen[str]
    marks: Marks

    def until(self, holds: Callable[[], bool], what: str) -> None:
        """Wait for something that comes while it is at work."""
        await_(lambda: holds() or self.process.poll() is not None, what)
        if not holds():
            raise AssertionError(f"the driver ended before: {what}\n{self.process.communicate()}")

    def ended(self) -> dict[str, Any]:
        """What it gave, when it has ended well."""
        out, err = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == 0, err
        document: dict[str, Any] = json.loads(out)
        return document

    def died(self) -> None:
        """It is dead, by its own hand or another's, and so are the workers that worked for it."""
        assert self.process.wait(PATIENCE) == -9
        for attempt in self.marks.all():
            await_(lambda pid=attempt.pid: not alive(pid), f"worker {attempt.pid} ends after its driver")


@dataclass
class Drivers:
    """Starts drivers, and leaves none behind."""

    orders: Orders
    directory: Path
    started: list[Driver] = field(default_factory=list)
    environment: dict[str, str] = field(default_factory=dict)
    """Of the next driver, besides this process's."""

    def __enter__(self) -> Drivers:
        return self

    def __exit__(self, *_: object) -> None:
        for driver in self.started:
            driver.process.kill()
            driver.process.communicate()

    def marks(self) -> Marks:
        """A directory for the marks of the next driver."""
        directory = self.directory / f"marks-{len(self.started)}"
        directory.mkdir(exist_ok=True)
        return Marks(directory)

    def start(self, verb: str, key: str = "run/step", program: str = "driver", **orders: Any) -> Driver:
        marks = self.marks()
        given = replace(self.orders, marks=str(marks.directory), verb=verb, key=key, **orders)
        process = subprocess.Popen(
            [sys.executable, "-m", f"tests.graveler.spark.cluster.{program}", given.text()],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT), "SPARK_LOCAL_IP": "127.0.0.1", **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.append(Driver(process, marks))
        return self.started[-1]


@pytest.fixture
def drivers(cluster: Standalone, postgresql_url: str, tmp_path: Path) -> Iterator[Drivers]:
    """Of the cluster, on the store."""
    with Drivers(Orders(postgresql_url, cluster.url, "", "", ""), tmp_path) as made:
        yield made


def left_running(directory: Path) -> list[int]:
    """Processes whose working directory is below one, or whose command names it."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            named = str(directory).encode() in (process / "cmdline").read_bytes()
            if named or (process / "cwd").readlink().is_relative_to(directory):
                found.append(int(process.name))
        except OSError:
            continue
    return found
