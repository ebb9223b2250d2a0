"""The suite `stores`: the same work on each key-value store, through the public API.

Objects are in a local directory on every store, so the differences are those of the key-value stores. Round trips are
counted in further calls, through a proxy before the server (`benchmarks.wire`); a store without a server has none.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice

from benchmarks import entries
from benchmarks.beside import errors, new_entry, p99, ways
from benchmarks.core import committed_entries, empty_repository
from benchmarks.crowd import DONE, Part, at_work
from benchmarks.scenario import Measured, Place, clocked, scenario
from benchmarks.wire import RoundTrips, counted, has_server
from graveler_core import connect
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.operations import Put

_CLIENTS = 8
_CALLS = 100
_COUNTED = 5
"""Calls of each kind whose round trips are counted. The result is their median."""
Act = Callable[[int], object]
"""One call, from its number."""


@scenario("stores", committed_entries, sizes=(1_000,))
def one_client(place: Place) -> Iterator[Measured]:
    """Measure the calls of one client on a small repository: time, processor time, and round trips."""
    with place.connect() as g:
        for name, act in _acts(place.repo(g), place.size).items():
            act(0)
            yield clocked(_numbered(act), _CALLS).named(name)
    if not has_server(place.store):
        return
    with counted(place.store) as (url, trips), connect(url) as g:
        for name, act in _acts(place.repo(g), place.size).items():
            act(_COUNTED)
            yield Measured(name, "round trips", tuple(_spent(trips, partial(act, n)) for n in range(_COUNTED)))


@scenario("stores", empty_repository, sizes=(100_000,), runs=3)
def bulk(place: Place) -> Iterator[Measured]:
    """Stage and commit a table in memory."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        table = entries.first(place.size)
        yield clocked(lambda: main.stage_many(table)).named("stage_many")
        yield clocked(lambda: main.commit("bulk")).named("commit, staged in bulk")


@scenario("stores", empty_repository, sizes=(4_000,), counts="milliseconds")
def clients(place: Place) -> Iterator[Measured]:
    """Stage one entry and commit it, by eight clients on one branch: processes if the store allows it."""
    by = ways(place)[-1]
    with place.connect() as g:
        parts = [Part(f"client {n}", "main", _commit) for n in range(_CLIENTS)]
        with at_work(place, place.repo(g), parts, by) as shift:
            time.sleep(place.size / 1e3)
    calls = [call for who in shift.calls for call in shift.within(who)]
    name = f"{_CLIENTS} clients, 1 branch"
    yield Measured(f"{name}: commits", "per s", (sum(call.outcome == DONE for call in calls) / shift.seconds,))
    yield Measured(f"{name}: answered", "per s", (sum(call.answered for call in calls) / shift.seconds,))
    if calls:
        yield Measured(f"{name}: commit, p99", "ms", (p99(calls),))
    yield from errors(name, shift)


def _acts(repo: Repository, size: int) -> dict[str, Act]:
    main = repo.branch("main")
    staged = repo.create_branch(f"staged-{time.monotonic_ns()}", source="main")
    for number in range(size):
        staged.stage(f"staged/{number:06d}", entries.one(number, 0))
    return {
        "get, committed": lambda n: main.get(entries.key(n % size)),
        "get, staged": lambda n: staged.get(f"staged/{n % size:06d}"),
        "list 1,000, committed": lambda _: list(islice(main.list(), 1_000)),
        "list 1,000, staged": lambda _: list(islice(staged.list("staged/"), 1_000)),
        "stage 1": lambda n: main.stage(*new_entry("stage", n)),
        "stage 1 and commit": lambda n: _commit(main, "commit", n)(),
        "transact of 10": lambda _: main.transact(_ten(), message="ten"),
        "create branch": lambda _: repo.create_branch(f"branch-{time.monotonic_ns()}", source="main"),
    }


def _ten() -> list[Put]:
    where = time.monotonic_ns()
    return [Put(f"ten/{where}/{n}", entries.one(n, where)) for n in range(10)]


def _commit(branch: Branch, who: str, number: int) -> Callable[[], object]:
    branch.stage(*new_entry(who, number))
    return partial(branch.commit, who)


def _numbered(act: Act) -> Callable[[], object]:
    numbers = iter(range(1 << 30))
    return lambda: act(next(numbers))


def _spent(trips: RoundTrips, act: Callable[[], object]) -> int:
    before = trips.count
    act()
    return trips.count - before
