"""Small transactions one after another, for as long as it takes to meet every cost that is put off.

The rate is that of the time spent in transactions, not of the time to make up the changes. What is written and read
counts what the library does in the background meanwhile, and what it has left to do there in the end.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.committed.changes import Draw, puts, whatever_is_there
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import Traffic, metered
from benchmarks.committed.series import Ready, Series, Span, series
from benchmarks.core import committed_entries, empty_repository
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch

_COMMITS = 2_000
_PUTS = 10
_FIRST = 2
"""Calls that are not timed."""
_SECONDS = 60.0


@scenario("committed", committed_entries)
def stream(place: Place) -> Iterator[Measured]:
    """Commits of 10 random overwrites; 2,000 of them, or `--commits`."""
    yield from _stream(place, "random overwrites", lambda main: transaction(main, Draw(place.size), _PUTS))


@scenario("committed", empty_repository, sizes=(_COMMITS,), counts="commits")
def stream_from_nothing(place: Place) -> Iterator[Measured]:
    """Commits of 10 new entries, in random order of their keys, on an empty repository."""
    numbers = list(range((place.size + _FIRST) * _PUTS))
    random.Random(7).shuffle(numbers)
    yield from _stream(place, "new entries", lambda main: _growing(main, numbers), place.size)


def _stream(
    place: Place, what: str, ready: Callable[[Branch], Ready], commits: int | None = None
) -> Iterator[Measured]:
    span = Span(commits or place.commits or _COMMITS, _SECONDS, unmeasured=_FIRST)
    with metered(place) as (g, meter):
        found = series(ready(place.repo(g).branch("main")), span, meter)
        left = clocked(g.close)
    total = meter.read()
    name = f"transact of {_PUTS} {what}"
    yield Measured(f"{name}: commits", "per s", (found.per_second(),))
    yield from found.times(name, (99, 99.9))
    yield left.named(f"{name}: left to the background")
    yield from _means(name, found, total)


def _means(name: str, found: Series, total: Traffic) -> Iterator[Measured]:
    """Of all calls, also those that are not timed."""
    calls = len(found.wall) + _FIRST
    yield Measured(f"{name}: written, mean", "kB", (total.written / 1e3 / calls,))
    yield found.written(f"{name}: written before it returned")
    yield Measured(f"{name}: records read, mean", "records", (total.records / calls,))
    yield Measured(f"{name}: objects read, mean", "objects", (total.objects / calls,))


def _growing(branch: Branch, numbers: list[int]) -> Ready:
    def ready(number: int) -> Callable[[], object]:
        taken = numbers[(number + _FIRST) * _PUTS :][:_PUTS]
        return partial(branch.transact, puts(taken, 1), message=f"{number}", on_conflict=whatever_is_there)

    return ready
