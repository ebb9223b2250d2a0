"""Series of calls: the time and the traffic of each call."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from benchmarks.committed.meter import Meter, Traffic
from benchmarks.scenario import Clocked, Measured, clocked

Ready = Callable[[int], Callable[[], object]]
"""Function of a call number that prepares the call and returns it."""


@dataclass(frozen=True, slots=True)
class CallLimit:
    """Number of calls of a series, and its time limit."""

    calls: int
    """Maximum number of measured calls."""
    seconds: float
    """Time limit in seconds. No call starts after it."""
    at_least: int = 3
    """Minimum number of measured calls, regardless of the time limit."""
    unmeasured: int = 2
    """Number of warm-up calls. Their call numbers are negative."""


@dataclass(slots=True)
class Series:
    """Times and traffic of calls, without the time to prepare them."""

    wall: list[float] = field(default_factory=list)
    """Wall-clock time of each call in milliseconds."""
    cpu: list[float] = field(default_factory=list)
    """CPU time of each call in milliseconds."""
    traffic: list[Traffic] = field(default_factory=list)
    """Traffic of each call."""

    def per_second(self) -> float:
        """Return the number of calls per second of time spent in calls."""
        return len(self.wall) / sum(self.wall) * 1e3

    def taken(self) -> Clocked:
        """Return the times of the calls."""
        return Clocked(tuple(self.wall), tuple(self.cpu))

    def times(self, name: str, percentiles: Sequence[float] = (99,)) -> Iterator[Measured]:
        """Yield the times of the calls, and percentiles of the wall-clock times."""
        yield self.taken().named(name)
        for percentile in percentiles:
            yield Measured(f"{name}, p{percentile:g}", "ms", (float(np.percentile(self.wall, percentile)),))

    def written(self, name: str) -> Measured:
        """Return the kilobytes that each call wrote."""
        return Measured(name, "kB", tuple(found.written / 1e3 for found in self.traffic))


def series(ready: Ready, span: CallLimit, meter: Meter) -> Series:
    """Run a series of calls. Each call is prepared before it is timed."""
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
    """Measure the first call and at least three further calls.

    Args:
        name: Name of the rows.
        work: Function to call.
        most: Maximum number of further calls.
        seconds: Time limit for the further calls.
    """
    yield clocked(work).named(f"{name}, cold")
    warm, begun = Clocked(), time.perf_counter()
    while len(warm.wall) < most and (len(warm.wall) < 3 or time.perf_counter() - begun < seconds):
        warm += clocked(work)
    yield warm.named(f"{name}, warm")
