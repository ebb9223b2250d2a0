"""Runs scenarios and returns their results as rows.

Each size and each durability gets its own set-up and its own measurement, both in fresh processes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.peers import reference
from benchmarks.rows import Row, four_digits
from benchmarks.scenario import Measured, Place, Scenario
from benchmarks.servers import running_store

Perform = Callable[[dict[str, Any]], dict[str, Any]]
"""Runs a task of `benchmarks.worker` and returns its answer."""


class StepFailed(Exception):
    """Error: a step failed. The step has already printed the reason."""


@dataclass(frozen=True, slots=True)
class BenchmarkRequest:
    """Scenarios to run, and the stores to run them on."""

    suite: str
    scenarios: Sequence[Scenario]
    store: str
    """`sqlite`, `memory`, a name in `benchmarks.servers.SERVERS` (a server for this run), or the URL of a store."""
    durabilities: Sequence[str]
    sizes: Sequence[int] | None
    """Sizes that replace the defaults of each scenario; `None` keeps the defaults."""
    runs: int | None
    """Number of runs that replaces the default of each scenario; `None` keeps the default."""
    directory: Path | None
    """Directory for all files; `None` means the system's temporary directory. The speed of its disk matters."""
    commits: int | None = None
    """Number of commits that replaces the default of each scenario; `None` keeps the default."""
    namespace: str = ""
    """URI below which objects are stored; empty means below `directory`."""
    cluster: str = ""
    """Spark master that replaces the default masters of the Spark scenarios; empty keeps the defaults."""


def rows(request: BenchmarkRequest, say: Callable[[str], None], perform: Perform | None = None) -> Iterator[Row]:
    """Run the request and yield each row as soon as it is known.

    Args:
        request: Scenarios to run.
        say: Called with one line of progress before each scenario.
        perform: Runs steps of a scenario; the default starts a process for them.

    Raises:
        StepFailed: A step failed.
    """
    with running_store(request.store) as store:
        for scenario in request.scenarios:
            for size in request.sizes or scenario.sizes:
                for durability in request.durabilities:
                    say(f"{scenario.name}, {size:,} {scenario.counts}, {durability}")
                    running = replace(request, store=store)
                    yield from _gathered(running, scenario, size, durability, perform or _in_a_process)


def _gathered(
    request: BenchmarkRequest, scenario: Scenario, size: int, durability: str, perform: Perform
) -> Iterator[Row]:
    values: dict[tuple[str, str], list[float]] = {}
    cpu: dict[tuple[str, str], list[float]] = {}
    peaks: dict[tuple[str, str], float] = {}
    for _ in range(request.runs or scenario.runs):
        with tempfile.TemporaryDirectory(prefix="graveler-bench-", dir=request.directory) as directory:
            place = _place(request, directory, size, durability)
            for steps in _processes(request.store):
                answer = perform(
                    {"suite": request.suite, "scenario": scenario.name, "place": asdict(place), "steps": steps}
                )
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


def _place(request: BenchmarkRequest, directory: str, size: int, durability: str) -> Place:
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
    """Return the steps of each process. A store in memory ends with its process, so both steps share one process."""
    return [["prepare", "measure"]] if store == "memory" else [["prepare"], ["measure"]]


def _in_a_process(task: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker"],
        input=json.dumps(task),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise StepFailed(f"{task['scenario']}: {' and '.join(task['steps'])} failed")
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer
