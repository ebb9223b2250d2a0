"""A writer beside one long call on its branch: what it sees before, during and after it.

Of commits the protocol's *Long-Commit-Multiple-Staging*, and the same of compactions.
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
from benchmarks.crowd import By, Call, Part, Shift, at_work
from benchmarks.scenario import Measured, Place, clocked
from graveler_core.codec.entry import normalise
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry

_PATHS = 100
"""That a committer or a writer takes in turn: what is staged and committed stays small."""
_MOMENT = 1.0
"""Seconds of writing before a long call, and after it."""


def ways(place: Place) -> tuple[By, ...]:
    """What can work together there: a store in memory is of one process."""
    return ("threads",) if place.store.startswith("memory:") else ("threads", "processes")


def staged_in_bulk(place: Place) -> None:
    """All entries staged by one `stage_many`, on a branch for each way of working."""
    with place.connect() as g:
        repo = place.create(g)
        for by in ways(place):
            repo.create_branch(by, source="main").stage_many(entries.first(place.size))


def staged_one_by_one(place: Place) -> None:
    """All entries staged as one key-value row each, on a branch for each way of working."""
    with place.connect() as g:
        repo = place.create(g)
        for by in ways(place):
            put_rows(place, repo.create_branch(by, source="main"), normalise(entries.first(place.size)))


def beside_a_writer(place: Place, verb: str, staged: str, call: Callable[[Branch], object]) -> Iterator[Measured]:
    """The call on each of the branches of `staged_…`, and a writer that stages entries there meanwhile.

    Args:
        verb: What the call does.
        staged: How the entries were staged.
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
    """One of somebody's paths, and content that it never had."""
    return f"{who}/{number % _PATHS}", entries.one(number, time.monotonic_ns())


def errors(name: str, shift: Shift) -> Iterator[Measured]:
    """Calls that failed: in all, and of each kind."""
    found = Counter(shift.errors())
    yield Measured(f"{name}: errors", "calls", (found.total(),))
    for outcome, count in found.items():
        yield Measured(f"{name}: {outcome}", "calls", (count,))


def p99(calls: Sequence[Call]) -> float:
    """The milliseconds that one call in a hundred exceeds."""
    return float(np.percentile([call.took for call in calls], 99))


def _write(branch: Branch, who: str, number: int) -> Callable[[], object]:
    return partial(branch.stage, *new_entry(who, number))


def _latencies(name: str, calls: Sequence[Call]) -> Iterator[Measured]:
    if calls:
        yield Measured(name, "ms", tuple(call.took for call in calls))
        yield Measured(f"{name}, p99", "ms", (p99(calls),))
