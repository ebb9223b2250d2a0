"""Concurrent workers: threads that share one handle, or processes that each open their own handle."""

from __future__ import annotations

import multiprocessing.dummy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Literal

from benchmarks.scenario import Place
from graveler_core.errors import GravelerError, NoChanges
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository

By = Literal["threads", "processes"]
Prepare = Callable[[Branch, str, int], Callable[[], object]]
"""Function (branch, worker name, call number) that prepares a call and returns it. With processes it is pickled."""

DONE, ABSORBED = "done", "absorbed"
_PATIENCE = 120
"""Timeout in seconds for all workers to become ready, and for all workers to end."""
_PRELOAD = [
    "benchmarks.protocol",
    "graveler_core.blobs.open",
    "graveler_core.kv.backends.postgresql.store",
    "graveler_core.kv.backends.sqlite.store",
    "pandas",  # Arrow imports it, if installed, when it first converts a NumPy array
    "pyarrow.pandas_compat",
]


@dataclass(frozen=True, slots=True)
class Part:
    """Name, branch and call of one worker. The worker repeats the call."""

    who: str
    branch: str
    prepare: Prepare


@dataclass(frozen=True, slots=True)
class TimedCall:
    """One call: start and end in seconds of a clock that all processes share, and the outcome."""

    begun: float
    ended: float
    outcome: str
    """`DONE`; `ABSORBED` if another commit included the changes; otherwise class and kind of the error."""

    @property
    def answered(self) -> bool:
        """`True` if the changes of the call are in the history of the branch."""
        return self.outcome in (DONE, ABSORBED)

    @property
    def took(self) -> float:
        """Duration in milliseconds."""
        return (self.ended - self.begun) * 1e3


@dataclass(slots=True)
class Shift:
    """Period in which all workers run. `calls` is filled when it ends."""

    begun: float = 0.0
    ended: float = 0.0
    calls: dict[str, list[TimedCall]] = field(default_factory=dict)
    """Calls of each worker, by worker name, in order. The last call of a worker ends after the shift."""

    @property
    def seconds(self) -> float:
        return self.ended - self.begun

    def within(self, who: str) -> list[TimedCall]:
        """Return the calls of a worker that ended within the shift."""
        return [call for call in self.calls[who] if call.ended <= self.ended]

    def errors(self) -> list[str]:
        """Return the outcomes of the calls that failed."""
        return [call.outcome for calls in self.calls.values() for call in calls if not call.answered]


@contextmanager
def at_work(place: Place, repo: Repository, parts: Sequence[Part], by: By) -> Iterator[Shift]:
    """Run all workers until the `with` block ends. The shift starts after each worker has finished one call.

    Args:
        place: Stores and repository of the run.
        repo: Repository handle that threads share. A process opens its own handle.
        parts: Work of each worker.
        by: Run workers as threads or as processes.

    Yields:
        The shift.
    """
    means: Any = multiprocessing.dummy
    if by == "processes":
        means = multiprocessing.get_context("forkserver")
        means.set_forkserver_preload(_PRELOAD)
    start, stop, answers = means.Barrier(len(parts) + 1), means.Event(), means.Queue()
    opened = partial(nullcontext, repo) if by == "threads" else partial(_opened, place)
    crowd = [means.Process(target=_work, args=(opened, part, start, stop, answers)) for part in parts]
    for worker in crowd:
        worker.start()
    shift = Shift()
    try:
        start.wait(_PATIENCE)
        shift.begun = time.monotonic()
        yield shift
    finally:
        shift.ended = time.monotonic()
        stop.set()
        if not start.broken:
            shift.calls |= (answers.get(timeout=_PATIENCE) for _ in parts)
        for worker in crowd:
            worker.join()


@contextmanager
def _opened(place: Place) -> Iterator[Repository]:
    with place.connect() as g:
        yield place.repo(g)


def _work(
    opened: Callable[[], AbstractContextManager[Repository]], part: Part, start: Any, stop: Any, answers: Any
) -> None:
    with opened() as repo:
        branch = repo.branch(part.branch)
        _called(branch, part, 0)  # work that is done only once: connections, caches, imports
        start.wait(_PATIENCE)
        calls: list[TimedCall] = []
        while not stop.is_set():
            calls.append(_called(branch, part, len(calls) + 1))
        calls.append(_called(branch, part, len(calls) + 1))
    answers.put((part.who, calls))


def _called(branch: Branch, part: Part, number: int) -> TimedCall:
    outcome, begun = DONE, time.monotonic()
    try:
        call = part.prepare(branch, part.who, number)
        begun = time.monotonic()
        call()
    except NoChanges as e:
        outcome = ABSORBED if e.details.get("commit") else repr(e)
    except GravelerError as e:
        outcome = f"{type(e).__name__}: {e.kind}"
    return TimedCall(begun, time.monotonic(), outcome)
