"""The suite `protocol`: concurrent workers on a branch.

It measures the commit rate, the fairness between workers, and the latency of a writer during a long commit.

A committer stages one entry and commits. If several committers share a branch, a commit may include entries that other
committers staged. The calls of those committers then return that commit, and they count as answered.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median

from benchmarks import entries
from benchmarks.beside import (
    beside_a_writer,
    errors,
    new_entry,
    p99,
    staged_in_bulk,
    staged_one_by_one,
    ways,
)
from benchmarks.core import empty_repository
from benchmarks.crowd import DONE, By, Part, Shift, TimedCall, at_work
from benchmarks.scenario import Measured, Place, scenario
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put

_CROWD = 8
_SMALL = 3
_PUTS = (10, 100, 1_000)
_PATIENT = 10
"""Factor on the median latency of a single committer. A call that takes longer does not count as answered in time."""


def branches(place: Place) -> None:
    """Create an empty repository with one branch per committer."""
    with place.connect() as g:
        repo = place.create(g)
        for number in range(_CROWD):
            repo.create_branch(f"branch-{number}", source="main")


@scenario("protocol", branches, sizes=(4_000,), counts="milliseconds")
def committers(place: Place) -> Iterator[Measured]:
    """Commit with one committer, with eight on one branch, and with eight on separate branches. Time only `commit`."""
    with place.connect() as g:
        repo = place.repo(g)
        alone = _together(place, repo, _committers(1, ["main"]), "threads")
        idle = median(call.took for call in _all(alone))
        yield from _rates("1 committer", alone, idle)
        for by in ways(place):
            on_one = _together(place, repo, _committers(_CROWD, ["main"]), by)
            yield from _rates(f"{_CROWD} {by}, 1 branch", on_one, idle)
            names = [f"branch-{number}" for number in range(_CROWD)]
            apart = _together(place, repo, _committers(_CROWD, names), by)
            yield from _rates(f"{_CROWD} {by}, {_CROWD} branches", apart, idle)


@scenario("protocol", empty_repository, sizes=(4_000,), counts="milliseconds")
def large_transaction(place: Place) -> Iterator[Measured]:
    """Run transactions of many puts, alone and next to transactions of one put. All puts add new paths."""
    with place.connect() as g:
        repo = place.repo(g)
        for puts in _PUTS:
            name = f"transact {puts:,}"
            large = Part(name, "main", partial(_transaction, puts=puts))
            small = [Part(f"small {number}", "main", partial(_transaction, puts=1)) for number in range(_SMALL)]
            alone = _together(place, repo, [large], "threads")
            before = _rate(alone, [name])
            yield Measured(f"{name}, alone", "per s", (before,))
            for by in ways(place):
                beside = _together(place, repo, [large, *small], by)
                what = f"{name} beside {_SMALL} of 1, {by}"
                yield Measured(what, "per s", (_rate(beside, [name]),))
                if before:
                    yield Measured(f"{what}: relative rate", "of alone", (_rate(beside, [name]) / before,))
                yield Measured(f"{what}: the others", "per s", (_rate(beside, [part.who for part in small]),))
                yield _slowest(what, beside.calls[name])
                yield from errors(what, beside)


@scenario("protocol", staged_in_bulk, sizes=(100_000, 1_000_000))
def long_commit(place: Place) -> Iterator[Measured]:
    """Measure a writer before, during and after a commit of entries that were staged in bulk."""
    yield from beside_a_writer(place, "commit", "in bulk", partial(Branch.commit, message="long"))


@scenario("protocol", staged_one_by_one, sizes=(100_000,))
def long_commit_of_rows(place: Place) -> Iterator[Measured]:
    """Measure the same for entries staged one by one. Their rows are dropped in the background after the commit."""
    yield from beside_a_writer(place, "commit", "one by one", partial(Branch.commit, message="long"))


def _committers(count: int, names: Sequence[str]) -> list[Part]:
    return [Part(f"committer {n}", names[n % len(names)], _commit) for n in range(count)]


def _commit(branch: Branch, who: str, number: int) -> Callable[[], object]:
    branch.stage(*new_entry(who, number))
    return partial(branch.commit, who)


def _transaction(branch: Branch, who: str, number: int, puts: int) -> Callable[[], object]:
    place = f"{who}/{time.monotonic_ns()}"
    operations = [Put(f"{place}/{n}", entries.one(n, number)) for n in range(puts)]
    return partial(branch.transact, operations, message=who)


def _together(place: Place, repo: Repository, parts: Sequence[Part], by: By) -> Shift:
    with at_work(place, repo, parts, by) as shift:
        time.sleep(place.size / 1e3)
    return shift


def _rates(name: str, shift: Shift, idle: float) -> Iterator[Measured]:
    """Rates, latencies, fairness and errors of the calls of a shift."""
    calls = _all(shift)
    answered = {who: sum(call.answered for call in shift.within(who)) for who in shift.calls}
    fair = sum(answered.values()) / len(answered)
    in_time = sum(call.answered and call.took <= _PATIENT * idle for call in calls) / len(calls)
    yield Measured(f"{name}: commits", "per s", (_rate(shift, shift.calls),))
    yield Measured(f"{name}: answered", "per s", (sum(answered.values()) / shift.seconds,))
    yield Measured(f"{name}: commit", "ms", tuple(call.took for call in calls))
    yield Measured(f"{name}: commit, p99", "ms", (p99(calls),))
    yield Measured(f"{name}: answered within {_PATIENT} x the idle latency", "%", (100 * in_time,))
    if len(answered) > 1:
        yield Measured(f"{name}: smallest share", "of mean", (min(answered.values()) / fair if fair else 0.0,))
    yield from errors(name, shift)


def _rate(shift: Shift, whose: Sequence[str] | dict[str, list[TimedCall]]) -> float:
    """Number of changes per second that the workers added to the history."""
    return sum(call.outcome == DONE for who in whose for call in shift.within(who)) / shift.seconds


def _slowest(name: str, calls: Sequence[TimedCall]) -> Measured:
    return Measured(f"{name}: slowest", "ms", (max(call.took for call in calls),))


def _all(shift: Shift) -> list[TimedCall]:
    return [call for calls in shift.calls.values() for call in calls]
