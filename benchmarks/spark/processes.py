"""Processor time and peak memory of the driver, of Java, and of Spark's Python workers, as Linux tells them in /proc.

Counted is what this process began, and executors of its application that run on this machine: on a cluster of several
machines the others are left out. The time of a process that has ended is its parent's, once the parent has noticed.
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
"""What this process began besides: not measured, until it has ended."""
_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")
_FORGET_PEAK = "5"


@dataclass(frozen=True, slots=True)
class Used:
    """What processes of one role took."""

    cpu: float = 0.0
    """Seconds, all of them together."""
    peak_mib: float = 0.0
    """Resident memory of the largest of them at its highest; what they share counts in each."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What one call took."""

    wall: float
    """Seconds."""
    used: dict[str, Used]
    """By role; only those that there are."""

    @property
    def cpu(self) -> float:
        """Seconds of the processor, all processes together."""
        return sum(used.cpu for used in self.used.values())

    def rows(self, name: str) -> Iterator[Measured]:
        """The time; and where there is more than a driver, what each role took of it."""
        yield Measured(name, "ms", (self.wall * 1e3,), (self.cpu * 1e3,), self.used[DRIVER].peak_mib)
        if len(self.used) > 1:
            for role, used in self.used.items():
                yield Measured(f"{name}: {role}", "CPU s", (used.cpu,), peak_mib=used.peak_mib)


def spent(work: Callable[[], object], application: str = "") -> Spent:
    """Call it.

    Args:
        application: The id of the Spark application whose executors take part.
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
    """Seconds, with those of its children that have ended."""
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
    """This process, those that it began, those that they began; and executors with theirs."""
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
