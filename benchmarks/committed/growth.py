"""Growth of costs with the number of entries, as exponents: 0 means constant, 1 means proportional."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count, islice
from statistics import mean, median

import numpy as np

from benchmarks import entries
from benchmarks.committed.changes import Draw
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import metered
from benchmarks.committed.series import CallLimit, series
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.facade.repository import Repository

_PUTS = 10
_LEAST = 1_000
_COMMITS = 200
_SECONDS = 8.0
_DIFFS = 20


def sizes(place: Place) -> list[int]:
    """Return the size and its tenths down to a thousand, or to a thousandth of it."""
    tenths = max(3, round(np.log10(place.size / _LEAST)))
    return sorted({max(_PUTS, place.size // 10**part) for part in range(tenths + 1)})


def branches(place: Place) -> None:
    """Create a repository with a branch for each size. Each branch starts at the first, empty commit."""
    with place.connect() as g:
        repo = place.create(g)
        for size in sizes(place):
            branch = repo.create_branch(f"of-{size}", source="main")
            branch.stage_many(entries.first(size))
            branch.commit(f"{size:,} entries")


@scenario("committed", branches)
def growth(place: Place) -> Iterator[Measured]:
    """Measure transactions of 10 random overwrites, diffs of the last commits with their parents, and single reads.

    There are 200 transactions, or `--commits`, at each size.
    """
    found: dict[str, list[float]] = {}
    span = CallLimit(place.commits or _COMMITS, _SECONDS)
    for size in sizes(place):
        with metered(place) as (g, meter):
            repo = place.repo(g)
            branch = repo.branch(f"of-{size}")
            commits = series(transaction(branch, Draw(size), _PUTS), span, meter)
            found.setdefault("time", []).append(median(commits.wall))
            found.setdefault("processor time", []).append(median(commits.cpu))
            found.setdefault("bytes", []).append(mean(traffic.written for traffic in commits.traffic))
            found.setdefault("diff with its parent", []).append(_diffs(repo, branch.name, len(commits.wall)))
            found.setdefault("get of a random key", []).append(_gets(repo, branch.name, size))
    for name, values in found.items():
        yield Measured(f"transact of {_PUTS}: {name}", "exponent", (_exponent(sizes(place), values),))


def _diffs(repo: Repository, branch: str, transactions: int) -> float:
    """Return the median processor time in milliseconds of the diffs between each of the last commits and its parent."""
    ids = [commit.id for commit in islice(repo.log(branch), min(_DIFFS, transactions) + 1)]
    pairs = iter(zip(ids[1:], ids, strict=False))
    return median(clocked(lambda: list(repo.diff(*next(pairs))), len(ids) - 1).cpu)


def _gets(repo: Repository, branch: str, size: int) -> float:
    """Return the median processor time in milliseconds of reads after the first 200."""
    at, draw = repo.at(f"{branch}@"), Draw(size)
    paths = (entries.key(draw.numbers(1)[0]) for _ in count())
    wanted = iter(list(islice(paths, 400)))
    return median(clocked(lambda: at.get(next(wanted)), 400).cpu[200:])


def _exponent(of: Sequence[int], values: Sequence[float]) -> float:
    """Return the slope of a line fitted through the logarithms of sizes and values."""
    return float(np.polyfit(np.log(of), np.log(values), 1)[0])
