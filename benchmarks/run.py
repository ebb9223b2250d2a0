"""Running scenarios: for each size and durability, set-ups and measurements in fresh processes, gathered into rows."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import reference
from benchmarks.rows import Row, four_digits
from benchmarks.scenario import Measured, Place, Scenario
from tests.postgresql_server import own_server


class Failed(Exception):
    """A step ended with an error, which it has printed."""


@dataclass(frozen=True, slots=True)
class Request:
    """What to run, and where."""

    suite: str
    scenarios: Sequence[Scenario]
    store: str
    """`sqlite`, `memory`, `postgresql` (a server for this run), or the URL of a store."""
    durabilities: Sequence[str]
    sizes: Sequence[int] | None
    """In place of the scenarios' own."""
    runs: int | None
    """In place of the scenarios' own."""
    directory: Path | None
    """Where files go; the disk under it is part of what is measured."""
    commits: int | None = None
    """In place of the scenarios' own."""
    namespace: str = ""
    """URI below which objects go, in place of `directory`."""
    cluster: str = ""
    """Of scenarios that work on Spark: the master, in place of their own ones."""


def rows(request: Request, say: Callable[[str], None]) -> Iterator[Row]:
    """All rows asked for, each when it is known."""
    with _running(request.store) as store:
        for scenario in request.scenarios:
            for size in request.sizes or scenario.sizes:
                for durability in request.durabilities:
                    say(f"{scenario.name}, {size:,} {scenario.counts}, {durability}")
                    yield from _gathered(replace(request, store=store), scenario, size, durability)


@contextmanager
def _running(store: str) -> Iterator[str]:
    """The store as asked for; `postgresql` becomes the URL of a server that runs meanwhile, as in the tests."""
    if store != "postgresql":
        yield store
        return
    with own_server() as server:
        yield server.url


def _gathered(request: Request, scenario: Scenario, size: int, durability: str) -> Iterator[Row]:
    values: dict[tuple[str, str], list[float]] = {}
    cpu: dict[tuple[str, str], list[float]] = {}
    peaks: dict[tuple[str, str], float] = {}
    for _ in range(request.runs or scenario.runs):
        with tempfile.TemporaryDirectory(prefix="graveler-bench-", dir=request.directory) as directory:
            place = _place(request, directory, size, durability)
            for steps in _processes(request.store):
                answer = _step(request.suite, scenario, place, steps)
                for measured in map(Measured.of, answer["measured"]):
                    key = (measured.name, measured.unit)
                    values.setdefault(key, []).extend(measured.values)
                    cpu.setdefault(key, []).extend(measured.cpu)
                    peaks[key] = max(peaks.get(key, 0.0), measured.peak_mib or answer["peak_mib"])
    store = request.store.partition(":")[0]
    for (name, unit), found in values.items():
        yield Row(
            suite=request.suite,
            scenario=scenario.name,
            name=name,
            size=size,
            store=store,
            durability=durability,
            unit=unit,
            median=four_digits(median(found)),
            least=four_digits(min(found)),
            most=four_digits(max(found)),
            repeats=len(found),
            cpu=four_digits(median(cpu[name, unit])) if cpu[name, unit] else None,
            peak_mib=round(peaks[name, unit], 1),
            reference=reference(request.suite, name, size),
        )


def _place(request: Request, directory: str, size: int, durability: str) -> Place:
    name = f"bench-{uuid.uuid4().hex[:12]}"
    store, data = request.store, f"{request.namespace.rstrip('/')}/{name}"
    if not request.namespace:
        data = f"memory://{name}/data" if store == "memory" else Path(directory, "data").as_uri()
    if store == "sqlite":
        store = f"sqlite:///{directory}/meta.db?durability={durability}"
    elif store == "memory":
        store = f"memory://{name}"
    return Place(store, data, name, size, request.commits, request.cluster)


def _processes(store: str) -> list[list[str]]:
    """The steps by processes: a store in memory ends with its process."""
    return [["prepare", "measure"]] if store == "memory" else [["prepare"], ["measure"]]


def _step(suite: str, scenario: Scenario, place: Place, steps: list[str]) -> dict[str, Any]:
    task = {"suite": suite, "scenario": scenario.name, "place": asdict(place), "steps": steps}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"],
        input=json.dumps(task),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise Failed(f"{scenario.name}: {' and '.join(steps)} failed")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
