"""Repositories that are larger than memory: building one, and small work on one."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice, pairwise

import numpy as np

from benchmarks import entries
from benchmarks.committed.changes import Draw
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import metered
from benchmarks.committed.series import CallLimit, cold_and_warm, series
from benchmarks.core import empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository

_PART = 1_000_000
"""Least number of entries that are staged together."""
_PARTS = 50
"""Most parts: a branch may have 100 layers of staged changes."""
_CALLS = 200
_SECONDS = 10.0
_PAGE = 1_000


def built_in_parts(place: Place) -> None:
    """Create a repository whose entries were staged in parts of a million or more, and committed together."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        _stage(main, place.size)
        main.commit(f"{place.size:,} entries")


@scenario("committed", empty_repository, sizes=(1_000_000, 10_000_000))
def build(place: Place) -> Iterator[Measured]:
    """Stage entries in parts of a million or more, and commit them together."""
    with metered(place) as (g, meter):
        main = place.repo(g).branch("main")
        yield _stage(main, place.size).named("stage in parts of a million")
        yield clocked(lambda: main.commit("all")).named("commit them")
        yield Measured("written", "B per entry", (meter.read().written / place.size,))


@scenario("committed", built_in_parts, sizes=(1_000_000, 10_000_000))
def large(place: Place) -> Iterator[Measured]:
    """Read single entries and pages, transact 1 and 10 random overwrites, and list diffs of the last commits."""
    numbers = iter(Draw(place.size).numbers(min(place.size, 4 * _CALLS)))
    with metered(place) as (g, meter):
        repo = place.repo(g)
        main, at = repo.branch("main"), repo.at("main@")
        yield clocked(lambda: main.get(entries.key(next(numbers)))).named("get, cold")
        span = CallLimit(place.commits or _CALLS, _SECONDS, unmeasured=0)
        gets = series(lambda number: partial(at.get, entries.key(next(numbers, number % place.size))), span, meter)
        yield gets.taken().named("get of a random key")
        yield Measured("objects read by a get", "objects", tuple(float(each.objects) for each in gets.traffic))
        middle = entries.key(place.size // 2)
        yield from cold_and_warm("page of 1,000", lambda: list(main.list(after=middle, limit=_PAGE)))
        for puts in (1, 10):
            branch = repo.create_branch(f"transacted-{puts}", source="main")
            made = series(transaction(branch, Draw(place.size), puts), span, meter)
            yield from made.times(f"transact of {puts}")
            yield made.written(f"written by a transact of {puts}")
            ids = [commit.id for commit in islice(repo.log(branch.id), len(made.wall) + 1)]
            diffs = Clocked()
            for parent, commit in pairwise(reversed(ids)):
                diffs += clocked(partial(_listed, repo, parent, commit))
            yield diffs.named(f"diff of a transact of {puts}")


def _listed(repo: Repository, left: str, right: str) -> int:
    return len(list(repo.diff(left, right)))


def _stage(branch: Branch, size: int) -> Clocked:
    """Stage the entries of the numbers 0 to `size` - 1. Return the time of staging, without generating the entries."""
    taken, part = Clocked(), max(_PART, -(-size // _PARTS))
    for start in range(0, size, part):
        table = entries.entries(np.arange(start, min(size, start + part)), start)
        taken += clocked(partial(branch.stage_many, table))
    return Clocked((sum(taken.wall),), (sum(taken.cpu),))
