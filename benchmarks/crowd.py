"""Several at work at once: threads of one process on one handle, or processes with a handle each."""

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
"""Readies somebody's call of a number on a branch, and gives it. For processes: a function that can be pickled."""

DONE, ABSORBED = "done", "absorbed"
_PATIENCE = 120
"""Seconds for all to be ready, and for all to end."""
_PRELOAD = [
    "benchmarks.protocol",
    "graveler_core.blobs.open",
    "graveler_core.kv.backends.postgresql",
    "graveler_core.kv.backends.sqlite",
    "pandas",  # Arrow imports it, where it is installed, at the first array it takes over
    "pyarrow.pandas_compat",
]


@dataclass(frozen=True, slots=True)
class Part:
    """Who does what, on which branch, again and again."""

    who: str
    branch: str
    prepare: Prepare


@dataclass(frozen=True, slots=True)
class Call:
    """One call: from when to when (seconds of a clock that all processes share), and how it ended."""

    begun: float
    ended: float
    outcome: str
    """DONE; ABSORBED where another commit took the changes; else class and kind of the error."""

    @property
    def answered(self) -> bool:
        """Whether its changes are in the branch's history."""
        return self.outcome in (DONE, ABSORBED)

    @property
    def took(self) -> float:
        """Milliseconds."""
        return (self.ended - self.begun) * 1e3


@dataclass(slots=True)
class Shift:
    """A time together; the calls are known when it is over."""

    begun: float = 0.0
    ended: float = 0.0
    calls: dict[str, list[Call]] = field(default_factory=dict)
    """Of each, in their order; the last ends after the shift."""

    @property
    def seconds(self) -> float:
        return self.ended - self.begun

    def within(self, who: str) -> list[Call]:
        """Somebody's calls that ended within the shift."""
        return [call for call in self.calls[who] if call.ended <= self.ended]

    def errors(self) -> list[str]:
        """How calls ended that brought nothing into the history."""
        return [call.outcome for calls in self.calls.values() for call in calls if not call.answered]


@contextmanager
def at_work(place: Place, repo: Repository, parts: Sequence[Part], by: By) -> Iterator[Shift]:
    """All work from when the first call of each is done until the end of the `with` statement.

    Args:
        repo: What threads work on; a process opens its own.
        by: What each of them is.
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
        _called(branch, part, 0)  # what is done but once: connections, caches, imports
        start.wait(_PATIENCE)
        calls: list[Call] = []
        while not stop.is_set():
            calls.append(_called(branch, part, len(calls) + 1))
        calls.append(_called(branch, part, len(calls) + 1))
    answers.put((part.who, calls))


def _called(branch: Branch, part: Part, number: int) -> Call:
    outcome, begun = DONE, time.monotonic()
    try:
        call = part.prepare(branch, part.who, number)
        begun = time.monotonic()
        call()
    except NoChanges as e:
        outcome = ABSORBED if e.details.get("commit") else repr(e)
    except GravelerError as e:
        outcome = f"{type(e).__name__}: {e.kind}"
    return Call(begun, time.monotonic(), outcome)
