"""Files in which workers report each attempt at a task, and with which a test pauses them.

An attempt writes a mark before it does its work and one after it. While there is a file `hold-<moment>.<stage>.<task>`
it goes no further than that moment (`before` or `after` the work). So a test decides by what it sees, not by the clock.
"""

from __future__ import annotations

import json
import os
import signal
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from pyspark import TaskContext

from graveler_core.stores import Cluster, Stores

T = TypeVar("T")
U = TypeVar("U")
PATIENCE = 300
"""Seconds after which a run is given up."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One attempt at a task, in a process."""

    stage: str
    task: int
    pid: int
    """Of the Python worker."""
    number: int
    """Of the attempt at the task, from 0; copies by speculation count on."""
    executor: int
    """The process of Spark's that started the one that forked the worker."""
    done: bool
    """Whether it has done its work."""


@dataclass(frozen=True, slots=True)
class Marks:
    """The directory of a run."""

    directory: Path

    def attempts(self, stage: str, task: int) -> list[Attempt]:
        """The attempts at a task, in the order in which they began."""
        return self._read(f"attempt.{stage}.{task}.*")

    def all(self) -> list[Attempt]:
        """All attempts, in the order in which they began."""
        return self._read("attempt.*")

    def hold(self, moment: str, stage: str, task: int) -> Path:
        """Let no attempt at a task pass a moment until the file is removed."""
        path = self.directory / f"hold-{moment}.{stage}.{task}"
        path.touch()
        return path

    def wait(self, moment: str, stage: str, task: int) -> None:
        """Wait for as long as attempts at a task are held up."""
        await_(lambda: not (self.directory / f"hold-{moment}.{stage}.{task}").exists(), f"{moment} {stage} {task}")

    def begin(self, stage: str, task: int) -> Path:
        """Mark an attempt; gives its mark."""
        context = TaskContext.get()
        number = 0 if context is None else context.attemptNumber()
        path = self.directory / f"attempt.{stage}.{task}.{uuid.uuid4().hex}"
        draft = self.directory / f"draft-{path.name}"
        executor = _parent(os.getppid())
        draft.write_text(json.dumps({"pid": os.getpid(), "number": number, "executor": executor}))
        draft.rename(path)
        return path

    def end(self, mark: Path) -> None:
        """Mark that an attempt has done its work."""
        mark.with_name(f"{mark.name}.done").touch()

    def _read(self, pattern: str) -> list[Attempt]:
        found = [path for path in self.directory.glob(pattern) if path.suffix != ".done"]
        return [self._attempt(path) for path in sorted(found, key=lambda path: path.stat().st_mtime_ns)]

    def _attempt(self, path: Path) -> Attempt:
        _, stage, task, _ = path.name.split(".")
        told = json.loads(path.read_text())
        return Attempt(stage=stage, task=int(task), **told, done=path.with_name(f"{path.name}.done").exists())


def marked(marks: Marks, stage: str, work: Callable[[Stores, T], U], stores: Stores, item: tuple[int, T]) -> U:
    """In a worker: a task of work, its attempt marked and held up."""
    task, given = item
    mark = marks.begin(stage, task)
    marks.wait("before", stage, task)
    made = work(stores, given)
    marks.end(mark)
    marks.wait("after", stage, task)
    return made


@dataclass(frozen=True)
class Marked:
    """A cluster whose attempts are marked, and whose driver is held up, or dies, when it was handed a task."""

    cluster: Cluster
    marks: Marks
    dies: str = ""
    """`<stage>.<task>`: the driver kills itself when it was handed this task."""

    def tasks(self, rows: int) -> int:
        return self.cluster.tasks(rows)

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        stage = _name(work)
        results = self.cluster.map(partial(marked, self.marks, stage, work), [*enumerate(items)])
        for task, result in enumerate(results):
            handed = self.marks.directory / f"handed.{stage}.{task}"
            handed.touch()
            if self.dies == f"{stage}.{task}":
                die()
            self.marks.wait("handed", stage, task)
            yield result


def die() -> None:
    """As if from the outside: nothing is tidied up."""
    os.kill(os.getpid(), signal.SIGKILL)


def await_(holds: Callable[[], bool], what: str) -> None:
    """Wait for something that will come."""
    deadline = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < deadline, f"waited in vain: {what}"
        time.sleep(0.02)


def alive(pid: int) -> bool:
    """Whether there is such a process that has not ended."""
    try:
        return _status(pid)[0] != "Z"
    except FileNotFoundError:
        return False


def _parent(pid: int) -> int:
    return int(_status(pid)[1])


def _status(pid: int) -> list[str]:
    """What follows the name: the state, the parent, …"""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def _name(work: Callable[..., object]) -> str:
    while isinstance(work, partial):
        work = work.func
    return work.__name__.strip("_")
