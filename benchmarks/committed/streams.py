"""Long series of small transactions, so that the results include all deferred work.

The rate counts only the time spent in transactions, not the time to generate the changes. Bytes written and objects
read include the background work during the series and after it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.committed.changes import Draw, puts, whatever_is_there
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import Traffic, metered
from benchmarks.committed.series import CallLimit, Ready, Series, series
from benchmarks.core import committed_entries, empty_repository
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch

_COMMITS = 2_000
_PUTS = 10
_FIRST = 2
"""Number of warm-up calls, which are not timed."""
_SECONDS = 60.0


@scenario("committed", committed_entries)
def stream(place: Place) -> Iterator[Measured]:
    """Make 2,000 commits, or `--commits`, of 10 random overwrites."""
    yield from _stream(place, "random overwrites", lambda main: transaction(main, Draw(place.size), _PUTS))


@scenario("committed", empty_repository, sizes=(_COMMITS,), counts="commits")
def stream_from_nothing(place: Place) -> Iterator[Measured]:
    """Make commits of 10 new entries in an empty repository, with keys in random order."""
    numbers = list(range((place.size + _FIRST) * _PUTS))
    random.Random(7).shuffle(numbers)
    yield from _stream(place, "new entries", lambda main: _growing(main, numbers), place.size)


def _stream(
    place: Place, what: str, ready: Callable[[Branch], Ready], commits: int | None = None
) -> Iterator[Measured]:
    span = CallLimit(commits or place.commits or _COMMITS, _SECONDS, unmeasured=_FIRST)
    with metered(place) as (g, meter):
        found = series(ready(place.repo(g).branch("main")), span, meter)
        left = clocked(g.close)
    total = meter.read()
    name = f"transact of {_PUTS} {what}"
    yield Measured(f"{name}: commits", "per s", (found.per_second(),))
    yield from found.times(name, (99, 99.9))
    yield left.named(f"{name}: remaining background work")
    yield from _means(name, found, total)


def _means(name: str, found: Series, total: Traffic) -> Iterator[Measured]:
    """Yield means over all calls, including the warm-up calls."""
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
