"""Many commits in a row: how long each took, what it wrote and read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.committed.meter import Meter, Traffic
from benchmarks.scenario import Clocked, Measured, clocked

Ready = Callable[[int], Callable[[], object]]
"""Readies the call of a number, and gives it."""


@dataclass(frozen=True, slots=True)
class Span:
    """How often, and for how long at most."""

    calls: int
    seconds: float
    at_least: int = 3
    """Calls that are made however long they take."""
    unmeasured: int = 2
    """Calls that come first; their numbers are below 0."""


@dataclass(slots=True)
class Series:
    """Calls in a row; the time to ready them is not counted."""

    wall: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    """Milliseconds of each."""
    traffic: list[Traffic] = field(default_factory=list)

    def per_second(self) -> float:
        """Calls in a second spent in them."""
        return len(self.wall) / sum(self.wall) * 1e3

    def taken(self) -> Clocked:
        """How long they took."""
        return Clocked(tuple(self.wall), tuple(self.cpu))

    def times(self, name: str, percentiles: Sequence[float] = (99,)) -> Iterator[Measured]:
        """Median, least and most; and percentiles, of the clock."""
        yield self.taken().named(name)
        for percentile in percentiles:
            yield Measured(f"{name}, p{percentile:g}", "ms", (float(np.percentile(self.wall, percentile)),))

    def written(self, name: str) -> Measured:
        """Kilobytes that each wrote."""
        return Measured(name, "kB", tuple(found.written / 1e3 for found in self.traffic))


def series(ready: Ready, span: Span, meter: Meter) -> Series:
    """Call after call, each readied before it is timed."""
    found = Series()
    for number in range(-span.unmeasured, 0):
        ready(number)()
    begun = time.perf_counter()
    for number in range(span.calls):
        if number >= span.at_least and time.perf_counter() - begun > span.seconds:
            break
        call = ready(number)
        before = meter.read()
        taken = clocked(call)
        found.traffic.append(meter.read() - before)
        found.wall += taken.wall
        found.cpu += taken.cpu
    return found


def cold_and_warm(name: str, work: Callable[[], object], most: int = 20, seconds: float = 2.0) -> Iterator[Measured]:
    """The first call, and those after it: at least three."""
    yield clocked(work).named(f"{name}, cold")
    warm, begun = Clocked(), time.perf_counter()
    while len(warm.wall) < most and (len(warm.wall) < 3 or time.perf_counter() - begun < seconds):
        warm += clocked(work)
    yield warm.named(f"{name}, warm")
