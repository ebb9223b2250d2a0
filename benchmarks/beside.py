"""Latency of a writer before, during and after a long call on the same branch.

The long call is a commit, a compaction or a deletion.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

import numpy as np

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.crowd import By, Part, Shift, TimedCall, at_work
from benchmarks.scenario import Measured, Place, clocked
from graveler_core.codec.entry import normalise
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry

_PATHS = 100
"""Number of paths that a committer or a writer overwrites in turn, so that each commit stays small."""
_MOMENT = 1.0
"""Seconds of writing before a long call, and after it."""


def ways(place: Place) -> tuple[By, ...]:
    """Return the ways of working together that a store allows. A store in memory belongs to one process."""
    return ("threads",) if place.store.startswith("memory:") else ("threads", "processes")


def staged_in_bulk(place: Place) -> None:
    """Create a repository with branches for threads and for processes, and stage all entries on each in bulk."""
    with place.connect() as g:
        repo = place.create(g)
        for by in ways(place):
            repo.create_branch(by, source="main").stage_many(entries.first(place.size))


def staged_one_by_one(place: Place) -> None:
    """Create a repository like `staged_in_bulk`, but with entries staged as one key-value row each."""
    with place.connect() as g:
        repo = place.create(g)
        for by in ways(place):
            put_rows(place, repo.create_branch(by, source="main"), normalise(entries.first(place.size)))


def beside_a_writer(place: Place, verb: str, staged: str, call: Callable[[Branch], object]) -> Iterator[Measured]:
    """Run a long call while a writer stages entries on the same branch: once with threads and once with processes.

    Args:
        place: Run with a branch named `threads` and, if the store allows it, one named `processes`.
        verb: Noun for the call in the names of the rows, for example `commit`.
        staged: Description of the staged entries in the names of the rows, for example `in bulk`.
        call: The long call.

    Yields:
        Latencies of the writer, the time of the long call, and the number of errors.
    """
    for by in ways(place):
        with place.connect() as g:
            repo = place.repo(g)
            with at_work(place, repo, [Part("writer", by, _write)], by) as shift:
                time.sleep(_MOMENT)
                begun = time.monotonic()
                taken = clocked(partial(call, repo.branch(by)))
                ended = time.monotonic()
                time.sleep(_MOMENT)
        calls, what = shift.calls["writer"], f"a {verb} of {place.size:,} staged {staged}, {by}"
        before = [call for call in calls if call.ended <= begun]
        during = [call for call in calls if call.ended > begun and call.begun < ended]
        yield from _latencies(f"stage before {what}", before)
        yield from _latencies(f"stage during {what}", during)
        yield from _latencies(f"stage after {what}", [call for call in calls if call.begun >= ended])
        if before and during:
            slower = median(call.took for call in during) / median(call.took for call in before)
            yield Measured(f"stage during {what}: median", "of before", (slower,))
        yield taken.named(f"{verb} of {place.size:,} staged {staged}, {by}, beside a writer")
        yield from errors(f"stage beside {what}", shift)


def new_entry(who: str, number: int) -> tuple[str, Entry]:
    """Return one of the paths of a worker with new content."""
    return f"{who}/{number % _PATHS}", entries.one(number, time.monotonic_ns())


def errors(name: str, shift: Shift) -> Iterator[Measured]:
    """Number of failed calls: the total, and the count of each kind."""
    found = Counter(shift.errors())
    yield Measured(f"{name}: errors", "calls", (found.total(),))
    for outcome, count in found.items():
        yield Measured(f"{name}: {outcome}", "calls", (count,))


def p99(calls: Sequence[TimedCall]) -> float:
    """99th percentile of the durations in milliseconds."""
    return float(np.percentile([call.took for call in calls], 99))


def _write(branch: Branch, who: str, number: int) -> Callable[[], object]:
    return partial(branch.stage, *new_entry(who, number))


def _latencies(name: str, calls: Sequence[TimedCall]) -> Iterator[Measured]:
    if calls:
        yield Measured(name, "ms", tuple(call.took for call in calls))
        yield Measured(f"{name}, p99", "ms", (p99(calls),))
