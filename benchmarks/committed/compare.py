"""Diffs and merges of changes spread over all keys: made by one commit, by 100 commits, or in another history."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import pyarrow as pa

from benchmarks import entries
from benchmarks.committed.meter import metered
from benchmarks.committed.series import CallLimit, cold_and_warm, series
from benchmarks.core import committed_entries
from benchmarks.scenario import Measured, Place, scenario
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository

_CHANGES = (1, 1_000, 100_000)
_STEPS = 100
_MERGES = CallLimit(calls=11, seconds=2.0, at_least=4, unmeasured=0)


def histories(place: Place) -> None:
    """Create a repository with all entries on `main` and branches that change some of them.

    The changes are made by one commit and by 100 commits. A branch `anew` has the same entries in a separate history.
    """
    committed_entries(place)
    with place.connect() as g:
        repo = place.repo(g)
        for name, count, seed in [*((f"changed-{n}", n, 1) for n in _CHANGES), ("other", 1_000, 2)]:
            table = entries.spread(place.size, count, seed)
            _commit(repo.create_branch(name, source="main"), table)
            if count > 1:
                in_steps = repo.create_branch(f"{name}-in-steps", source="main")
                for step in range(min(_STEPS, len(table))):
                    _commit(in_steps, table.take(list(range(step, len(table), _STEPS))))
        _anew(repo, place.size)


@scenario("committed", histories)
def diff(place: Place) -> Iterator[Measured]:
    """List the changes between a branch and its base commit, its parent, another branch, and another history."""
    for count in _CHANGES:
        name = f"diff, {count:,} {'change' if count == 1 else 'changes'}"
        yield from _diff(place, name, ("main", f"changed-{count}"))
        if count > 1:
            yield from _diff(place, f"{name} in {_STEPS} commits", ("main", f"changed-{count}-in-steps"))
    steps = "changed-1000-in-steps"
    yield from _diff(place, f"diff, the last of {_STEPS} commits against its parent", (f"{steps}~1", steps))
    yield from _diff(place, "diff, both sides changed 1,000", ("other", "changed-1000"))
    yield from _diff(place, "diff, equal content of another history", ("main", "anew~1"))
    yield from _diff(place, "diff, 1,000 changes of another history", ("main", "anew"))


@scenario("committed", histories)
def merge(place: Place) -> Iterator[Measured]:
    """Merge changes into a branch that changed 1,000 other entries. Each warm merge repeats this on a new branch."""
    for count in _CHANGES:
        yield from _merge(place, f"merge, {count:,} against 1,000", (f"changed-{count}", "other"))
    both = f"merge, 1,000 against 1,000, each in {_STEPS} commits"
    yield from _merge(place, both, ("changed-1000-in-steps", "other-in-steps"))


def _diff(place: Place, name: str, sides: tuple[str, str]) -> Iterator[Measured]:
    with place.connect() as g:
        repo = place.repo(g)
        yield from cold_and_warm(name, lambda: list(repo.diff(*sides)))


def _merge(place: Place, name: str, sides: tuple[str, str]) -> Iterator[Measured]:
    """Measure merges. Each merge has a destination branch of its own, which is created before the timed call."""
    source, destination = sides
    with metered(place) as (g, meter):
        repo = place.repo(g)

        def ready(number: int) -> Callable[[], object]:
            into = f"{source}-into-{destination}-{number}"
            repo.create_branch(into, source=destination)
            return partial(repo.merge, source, into=into)

        found = series(ready, _MERGES, meter)
        yield found.taken()[:1].named(f"{name}, cold")
        yield found.taken()[1:].named(f"{name}, warm")
        yield found.written(f"written by a {name}")


def _commit(branch: Branch, table: pa.Table) -> None:
    branch.stage_many(table)
    branch.commit(f"change {len(table):,}")


def _anew(repo: Repository, size: int) -> None:
    """Create a branch `anew` at the first, empty commit. Commit the same entries there, and then 1,000 changes."""
    root = list(repo.log("main"))[-1]
    branch, table = repo.create_branch("anew", source=root.id), entries.first(size)
    _commit(branch, table[size // 2 :])
    _commit(branch, table[: size // 2])
    _commit(branch, entries.spread(size, 1_000, 1))
