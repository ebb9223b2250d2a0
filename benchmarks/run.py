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
    peak = 0.0
    for _ in range(request.runs or scenario.runs):
        with tempfile.TemporaryDirectory(prefix="graveler-bench-", dir=request.directory) as directory:
            place = replace(_place(request.store, directory, size, durability), commits=request.commits)
            for steps in _processes(request.store):
                answer = _step(request.suite, scenario, place, steps)
                peak = max(peak, answer["peak_mib"] if "measure" in steps else 0.0)
                for measured in map(Measured.of, answer["measured"]):
                    values.setdefault((measured.name, measured.unit), []).extend(measured.values)
                    cpu.setdefault((measured.name, measured.unit), []).extend(measured.cpu)
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
            peak_mib=round(peak, 1),
            reference=reference(request.suite, name, size),
        )


def _place(store: str, directory: str, size: int, durability: str) -> Place:
    data = Path(directory, "data").as_uri()
    name = f"bench-{uuid.uuid4().hex[:12]}"
    if store == "sqlite":
        return Place(f"sqlite:///{directory}/meta.db?durability={durability}", data, name, size)
    if store == "memory":
        return Place(f"memory://{name}", f"memory://{name}/data", name, size)
    return Place(store, data, name, size)


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
