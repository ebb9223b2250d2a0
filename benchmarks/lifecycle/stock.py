"""A repository with much in it: records staged one by one, and a tenth as many commits of one change each."""

from __future__ import annotations

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.scenario import Place
from graveler_core.codec.entry import normalise
from graveler_core.facade.repository import Repository

_RECORDS_A_COMMIT = 10
_PATHS = 1_000
"""That commits change in turn."""


def commits_of(place: Place) -> int:
    """How many commits are made; `--commits` in place of it."""
    return place.commits or max(1, place.size // _RECORDS_A_COMMIT)


def fill(place: Place, repo: Repository) -> None:
    """Commits on `main`, then staged records on it: as many as the size."""
    main = repo.branch("main")
    for number in range(commits_of(place)):
        main.stage(entries.key(number % _PATHS), entries.one(number % _PATHS, number))
        main.commit(f"change {number}")
    put_rows(place, main, normalise(entries.first(place.size)))


def filled_repository(place: Place) -> None:
    """The run's repository, filled."""
    with place.connect() as g:
        fill(place, place.create(g))
