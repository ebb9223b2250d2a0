"""The suite `endurance`: one repository under all kinds of work for hours.

Two workers of each kind put content, stage and commit, merge, read, compact, collect and clean. Twelve times, all of
them pause, and a collection and a sweep without a grace period delete everything that no commit names. For each
*period* between two pauses, each worker reports the times of its calls and its memory. The results compare the last
periods with the first ones: if nothing accumulates, they are equal.
"""

from __future__ import annotations

import multiprocessing.dummy
import os
import random
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.beside import ways
from benchmarks.core import empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.errors import Conflict, GravelerError, NoChanges
from graveler_core.facade.graveler import Graveler
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put

_EACH = 2
"""Workers of each kind."""
_PERIODS = 12
_COMPARED = 3
"""Number of periods at the end that are compared with as many after the first one."""
_MERGED = "merged"
"""Branch into which all merges go."""
_AT_ONCE = timedelta(0)
_PATHS = 500
"""Number of paths that each worker writes in turn. The repository does not grow after all have been written."""
_PAGE = 100
_CONTENT = 100
"""Bytes of each object."""
_PATIENCE = 600
"""Timeout in seconds for the workers to report a period."""


@dataclass(frozen=True, slots=True)
class Tools:
    """Handles of one worker, its name, and its random numbers."""

    g: Graveler
    repo: Repository
    who: str
    chance: random.Random

    def put(self, branch: str, number: int) -> Put:
        """Store new content at one of the worker's paths on a branch, and return the change."""
        path = f"{self.who}/{number % _PATHS:06}"
        return Put(path, self.repo.branch(branch).put(path, self.chance.randbytes(_CONTENT)))


@dataclass(slots=True)
class Period:
    """Calls of one worker between two pauses."""

    who: str
    number: int
    taken: Clocked = field(default_factory=Clocked)
    failed: list[str] = field(default_factory=list)
    """Errors of the calls that failed."""
    memory: float = 0.0
    """Memory of the process at the end, in MiB."""


def _put(tools: Tools, number: int) -> None:
    tools.put("main", number)


def _commit(tools: Tools, number: int) -> None:
    tools.put("main", number)
    tools.repo.branch("main").commit(f"{tools.who} {number}")


def _merge(tools: Tools, number: int) -> None:
    """Commit a change on a branch of the worker, and merge it into a branch that no worker stages on."""
    tools.put(tools.who, number)
    tools.repo.branch(tools.who).commit("change")
    tools.repo.merge(tools.who, into=_MERGED)


def _read(tools: Tools, number: int) -> None:
    main = tools.repo.branch("main")
    for entry in list(main.list(limit=_PAGE))[:1]:
        main.get(entry.path)


def _compact(tools: Tools, number: int) -> None:
    with suppress(Conflict):  # the layers changed in the meantime
        tools.repo.branch("main").compact()


def _collect(tools: Tools, number: int) -> None:
    tools.repo.collect()
    tools.repo.sweep()


def _clean(tools: Tools, number: int) -> None:
    tools.g.clean()


KINDS: dict[str, tuple[Callable[[Tools, int], None], float]] = {
    "put": (_put, 0.5),
    "commit": (_commit, 1.0),
    "merge": (_merge, 2.0),
    "read": (_read, 1.0),
    "compact": (_compact, 10.0),
    "collect": (_collect, 60.0),
    "clean": (_clean, 30.0),
}
"""Work of each kind, and the seconds between two calls."""


@scenario("endurance", empty_repository, sizes=(7_200,), counts="seconds")
def all_at_once(place: Place) -> Iterator[Measured]:
    """Run all kinds of work together, each worker in a process, and compare the periods. A memory store has threads."""
    names = [f"{kind}-{number}" for kind in KINDS for number in range(_EACH)]
    with place.connect() as g:
        repo = place.repo(g)
        repo.set_retention(0)
        for name in (_MERGED, *names):
            repo.create_branch(name, source="main")
        periods, files = _worked(place, g, names)
        _cleaned(g, place)  # a collection deletes the files of the last one
        examined = g.doctor(repository=place.repository, deep=True)
        problems = [*examined.found, *examined.unseen, *repo.fsck(deep=True, checksums=True)]
    failed = [error for period in periods for error in period.failed]
    if problems or failed:
        raise RuntimeError(f"{len(problems)} problems, {len(failed)} failed calls: {[*problems, *failed][0]}")
    for kind in KINDS:
        yield from _compared(kind, [period for period in periods if period.who.startswith(kind)])
    yield Measured("files after each collection", "files", tuple(map(float, files)))
    yield Measured("files, last and second collection", "ratio", (files[-1] / files[1],))


def _worked(place: Place, g: Graveler, names: Sequence[str]) -> tuple[list[Period], list[int]]:
    """Run the workers. Return their periods, and the number of files after each collection."""
    threads = ways(place)[-1] == "threads"
    means: Any = multiprocessing.dummy if threads else multiprocessing.get_context("spawn")
    begin, answers = means.Barrier(len(names) + 1), means.Queue()
    crowd = [means.Process(target=_work, args=(name, place, begin, answers)) for name in names]
    for worker in crowd:
        worker.start()
    periods, files = list[Period](), list[int]()
    for _ in range(_PERIODS):
        begin.wait(_PATIENCE)
        periods += [answers.get(timeout=_PATIENCE) for _ in names]
        files.append(_cleaned(g, place))
    for worker in crowd:
        worker.join()
    return periods, files


def _cleaned(g: Graveler, place: Place) -> int:
    """Delete all that no branch and no commit needs, while nobody works. Return the number of files that are left."""
    repo = place.repo(g)
    g.clean(repository=place.repository, late=_AT_ONCE, building=_AT_ONCE, keys_for=_AT_ONCE)
    repo.collect(grace=_AT_ONCE, alone=True)
    repo.sweep(grace=_AT_ONCE, alone=True)
    return sum(1 for _ in repo._stores.blobs.at(place.data).list())


def _work(name: str, place: Place, begin: Any, answers: Any) -> None:
    """Do the work of a worker in all periods. A handle that is closed has ended its background work."""
    work, pause = KINDS[name.partition("-")[0]]
    seconds, number = place.size / _PERIODS, 0
    for each in range(_PERIODS):
        period = Period(name, each)
        begin.wait(_PATIENCE)
        end = time.monotonic() + seconds
        with place.connect() as g:
            tools = Tools(g, place.repo(g), name, random.Random(f"{name} {each}"))
            while time.monotonic() < end:
                period.taken += clocked(partial(_called, partial(work, tools, number), period))
                number += 1
                time.sleep(min(pause, max(0.0, end - time.monotonic())))
        period.memory = _memory_mib()
        answers.put(period)


def _called(call: Callable[[], None], period: Period) -> None:
    try:
        with suppress(NoChanges):  # another worker has committed the change
            call()
    except GravelerError as e:
        period.failed.append(f"{period.who}: {type(e).__name__}: {e}")


def _compared(kind: str, periods: Sequence[Period]) -> Iterator[Measured]:
    """Yield the times of calls and the memory in the last periods, and their ratios to the first ones."""
    first = [each for each in periods if 1 <= each.number <= _COMPARED]
    last = [each for each in periods if each.number >= _PERIODS - _COMPARED]
    taken = sum((each.taken for each in last), Clocked())
    before = sum((each.taken for each in first), Clocked())
    yield taken.named(f"{kind}, last periods")
    yield Measured(f"{kind}: processor time, last and first periods", "ratio", (_ratio(taken.cpu, before.cpu),))
    yield Measured(f"{kind}: time, last and first periods", "ratio", (_ratio(taken.wall, before.wall),))
    memory = [tuple(each.memory for each in part) for part in (last, first)]
    yield Measured(f"{kind}: memory, last periods", "MiB", memory[0])
    yield Measured(f"{kind}: memory, last and first periods", "ratio", (_ratio(*memory),))


def _ratio(last: Sequence[float], first: Sequence[float]) -> float:
    return median(last) / median(first)


def _memory_mib() -> float:
    """Return the resident memory of this process in MiB, as Linux reports it."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / (1 << 20)
