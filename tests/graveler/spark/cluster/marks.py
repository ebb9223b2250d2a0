"""Files in which workers report each attempt at a task, and with which a test pauses them.

An attempt writes a mark before it does its work and one after it. While there is a file `hold-<moment>.<stage>.<piece>`
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
    """One attempt at a piece, in a process."""

    stage: str
    piece: int
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

    def attempts(self, stage: str, piece: int) -> list[Attempt]:
        """The attempts at a piece, in the order in which they began."""
        return self._read(f"attempt.{stage}.{piece}.*")

    def all(self) -> list[Attempt]:
        """All attempts, in the order in which they began."""
        return self._read("attempt.*")

    def hold(self, moment: str, stage: str, piece: int) -> Path:
        """Let no attempt at a piece pass a moment until the file is removed."""
        path = self.directory / f"hold-{moment}.{stage}.{piece}"
        path.touch()
        return path

    def wait(self, moment: str, stage: str, piece: int) -> None:
        """Wait for as long as attempts at a piece are held up."""
        await_(lambda: not (self.directory / f"hold-{moment}.{stage}.{piece}").exists(), f"{moment} {stage} {piece}")

    def begin(self, stage: str, piece: int) -> Path:
        """Mark an attempt; gives its mark."""
        task = TaskContext.get()
        number = 0 if task is None else task.attemptNumber()
        path = self.directory / f"attempt.{stage}.{piece}.{uuid.uuid4().hex}"
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
        _, stage, piece, _ = path.name.split(".")
        told = json.loads(path.read_text())
        return Attempt(stage=stage, piece=int(piece), **told, done=path.with_name(f"{path.name}.done").exists())


def marked(marks: Marks, stage: str, work: Callable[[Stores, T], U], stores: Stores, item: tuple[int, T]) -> U:
    """In a worker: a piece of work, its attempt marked and held up."""
    piece, given = item
    mark = marks.begin(stage, piece)
    marks.wait("before", stage, piece)
    made = work(stores, given)
    marks.end(mark)
    marks.wait("after", stage, piece)
    return made


@dataclass(frozen=True)
class Marked:
    """A cluster whose attempts are marked, and whose driver is held up, or dies, when it was handed a piece."""

    cluster: Cluster
    marks: Marks
    dies: str = ""
    """`<stage>.<piece>`: the driver kills itself when it was handed this piece."""

    def tasks(self, rows: int) -> int:
        return self.cluster.tasks(rows)

    def map(self, work: Callable[[Stores, T], U], items: Sequence[T]) -> Iterator[U]:
        stage = _name(work)
        results = self.cluster.map(partial(marked, self.marks, stage, work), [*enumerate(items)])
        for piece, result in enumerate(results):
            handed = self.marks.directory / f"handed.{stage}.{piece}"
            handed.touch()
            if self.dies == f"{stage}.{piece}":
                die()
            self.marks.wait("handed", stage, piece)
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
