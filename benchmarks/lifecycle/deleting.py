"""Deletion and clean-up of a repository, alone and next to a writer on the same store."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from benchmarks.beside import beside_a_writer, ways
from benchmarks.lifecycle.stock import commits_of, fill, filled_repository
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.engine.cleaning.plan import Cleaned
from graveler_core.facade.branch import Branch
from graveler_core.facade.graveler import Graveler

_AT_ONCE = timedelta(0)


def victims(place: Place) -> None:
    """Create a branch for threads and one for processes, and for each of them a filled repository to delete."""
    with place.connect() as g:
        repo = place.create(g)
        for by in ways(place):
            repo.create_branch(by, source="main")
            fill(place, g.create_repository(_victim(place, by), storage_namespace=f"{place.data}-{by}"))


@scenario("lifecycle", filled_repository, counts="staged records")
def delete(place: Place) -> Iterator[Measured]:
    """Delete a repository, and clean up all its data in one call."""
    cleaned: list[Cleaned] = []
    with place.connect() as g:
        what = f"of {commits_of(place):,} commits and {place.size:,} staged records"
        yield clocked(lambda: g.delete_repository(place.repository)).named(f"delete a repository {what}")
        taken = clocked(lambda: cleaned.append(_cleaned(g, place.repository)))
        yield taken.named(f"clean up a repository {what}")
        yield Measured(f"clean up a repository {what}: rows", "per s", (cleaned[0].rows / taken.wall[0] * 1e3,))
        yield Measured(f"clean up a repository {what}: rows", "rows", (cleaned[0].rows,))


@scenario("lifecycle", victims, counts="staged records")
def delete_beside_a_writer(place: Place) -> Iterator[Measured]:
    """Delete and clean up a repository while a writer stages single entries in another repository of the store."""

    def deleted(branch: Branch) -> None:
        g, name = Graveler(branch._stores), _victim(place, branch.name)
        g.delete_repository(name)
        _cleaned(g, name)

    yield from beside_a_writer(place, "deletion", f"with {commits_of(place):,} commits", deleted)


def _victim(place: Place, by: str) -> str:
    return f"{place.repository}-{by}"


def _cleaned(g: Graveler, name: str) -> Cleaned:
    cleaned = g.clean(repository=name, undelete_within=_AT_ONCE, late=_AT_ONCE)
    if cleaned.repositories != 1 or cleaned.failed:
        raise RuntimeError(f"{name}: the clean-up is incomplete: {cleaned}")
    return cleaned
