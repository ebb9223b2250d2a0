"""CPU time and peak memory of the driver, of the JVMs, and of Spark's Python workers, read from Linux's /proc.

It counts the child processes of this process, and the executors of its Spark application that run on this machine. On a
cluster of several machines the executors on other machines are not counted. The CPU time of a process that has ended is
added to its parent when the parent has waited for it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.scenario import Measured

DRIVER, JAVA, WORKERS = "driver", "Java", "workers"
_OTHERS = "others"
"""Role of other child processes. They are not measured while they run."""
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_FORGET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Used:
    """Time and memory of the processes of one role."""

    cpu: float = 0.0
    """CPU time in seconds, summed over the processes."""
    peak_mib: float = 0.0
    """Largest peak resident memory of a process in MiB. Shared memory counts in each process."""


@dataclass(frozen=True, slots=True)
class Spent:
    """Time and memory of one call."""

    wall: float
    """Wall-clock time in seconds."""
    used: dict[str, Used]
    """Time and memory by role. Roles without processes are absent."""

    @property
    def cpu(self) -> float:
        """CPU time in seconds, summed over all processes."""
        return sum(used.cpu for used in self.used.values())

    def rows(self, name: str) -> Iterator[Measured]:
        """Yield the time, and the time of each role if there are other roles than the driver."""
        yield Measured(name, "ms", (self.wall * 1e3,), (self.cpu * 1e3,), self.used[DRIVER].peak_mib)
        if len(self.used) > 1:
            for role, used in self.used.items():
                yield Measured(f"{name}: {role}", "CPU s", (used.cpu,), peak_mib=used.peak_mib)


def spent(work: Callable[[], object], application: str = "") -> Spent:
    """Call `work`, and return the time and memory that it used.

    Args:
        work: Function to measure.
        application: Id of the Spark application whose executors are counted; empty for none.
    """
    before = _processes(application)
    for process in before:
        process.forget_peak()
    begun = time.perf_counter()
    work()
    wall = time.perf_counter() - begun
    return Spent(wall, _used(before, _processes(application)))


@dataclass(frozen=True, slots=True)
class _Process:
    id: int
    parent: int
    command: str
    cpu: float
    """CPU time in seconds, including children that have ended."""
    role: str = DRIVER

    def forget_peak(self) -> None:
        with suppress(OSError):
            (_PROC / str(self.id) / "clear_refs").write_text(_FORGET_PEAK)

    def peak_mib(self) -> float:
        with suppress(OSError):
            for line in (_PROC / str(self.id) / "status").read_text().splitlines():
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) / 1024
        return 0.0


def _used(before: list[_Process], after: list[_Process]) -> dict[str, Used]:
    found = {}
    for role in (DRIVER, JAVA, WORKERS):
        now = [process for process in after if process.role == role]
        earlier = sum(process.cpu for process in before if process.role == role)
        if now:
            taken = max(0.0, sum(process.cpu for process in now) - earlier)
            found[role] = Used(taken, max(process.peak_mib() for process in now))
    return found


def _processes(application: str) -> list[_Process]:
    """Return this process, all its descendants, and the executors of the application with their descendants."""
    every = {process.id: process for process in map(_process, _ids()) if process is not None}
    children: dict[int, list[_Process]] = {}
    for process in every.values():
        children.setdefault(process.parent, []).append(process)
    found: list[_Process] = []

    def take(process: _Process, role: str) -> None:
        role = JAVA if process.command == "java" else role
        found.append(replace(process, role=role))
        for child in children.get(process.id, []):
            take(child, WORKERS if role in (JAVA, WORKERS) else _OTHERS)

    take(every[os.getpid()], DRIVER)
    for process in every.values() if application else ():
        if process.command == "java" and application in _arguments(process.id):
            take(process, JAVA)
    return found


def _ids() -> Iterator[int]:
    return (int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit())


def _process(id: int) -> _Process | None:
    with suppress(OSError):
        head, _, rest = (_PROC / str(id) / "stat").read_text().rpartition(")")
        numbers = rest.split()
        return _Process(id, int(numbers[1]), head.partition("(")[2], sum(map(int, numbers[11:15])) / _TICKS)
    return None


def _arguments(id: int) -> list[str]:
    with suppress(OSError):
        return (_PROC / str(id) / "cmdline").read_text(errors="replace").split("\0")
    return []
