"""Commits, compactions, merges and diff summaries, each in one process and on Spark. The results must be equal."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.scenario import Measured, Place, scenario
from benchmarks.spark.engines import EngineTask, by_each, filled, stage_numbers, tree
from graveler_core.codec.entry import normalise
from graveler_core.engine.reading.view import commit_of
from graveler_core.facade.repository import Repository

_LEFT, _RIGHT = "left", "right"
_SHARE = 5
"""Divisor: each branch changes a fifth of the entries.

Changes of up to a tenth of the entries stay in the index above the tree, and such commits are not given to a cluster.
"""


def staged(place: Place) -> None:
    """Create repositories with all entries staged on `main` in bulk, a million per call."""
    filled(place, lambda repo: stage_numbers(repo.branch("main"), place.size))


def staged_rows(place: Place) -> None:
    """Create repositories with all entries staged on `main` as one key-value row each, and set the write counters."""
    records = normalise(entries.first(place.size))

    def fill(repo: Repository) -> None:
        main = repo.branch("main")
        put_rows(place, main, records)
        main.pressure(exact=True)

    filled(place, fill)


def staged_among(place: Place) -> None:
    """Create repositories with as many entries committed on `main` as staged there. The keys of both alternate."""

    def fill(repo: Repository) -> None:
        main = repo.branch("main")
        stage_numbers(main, place.size, step=2)
        main.commit("Some")
        stage_numbers(main, place.size, step=2, first=1)

    filled(place, fill)


def changed(place: Place) -> None:
    """Create repositories with all entries on `main`, and two branches that each change a different fifth of them."""

    def fill(repo: Repository) -> None:
        main = repo.branch("main")
        stage_numbers(main, place.size)
        main.commit("All")
        for seed, name in enumerate((_LEFT, _RIGHT), 1):
            branch = repo.create_branch(name, source="main")
            branch.stage_many(entries.spread(place.size, place.size // _SHARE, seed))
            branch.commit("A fifth")

    filled(place, fill)


@scenario("spark", staged)
def commit(place: Place) -> Iterator[Measured]:
    """Commit bulk-staged entries on an empty branch."""
    yield from by_each(place, _commit("commit to an empty branch", place))


@scenario("spark", staged_rows)
def commit_rows(place: Place) -> Iterator[Measured]:
    """Commit entries that were staged one by one on an empty branch."""
    yield from by_each(place, _commit("commit of rows to an empty branch", place))


@scenario("spark", staged_among)
def commit_among(place: Place) -> Iterator[Measured]:
    """Commit entries on a branch with equally many other entries."""
    yield from by_each(place, _commit("commit among other entries", place))


@scenario("spark", staged_among)
def compact(place: Place) -> Iterator[Measured]:
    """Compact staged entries on a branch with equally many other entries."""
    yield from by_each(place, EngineTask("compact among other entries", place.size, _compacted, tree("main")))


@scenario("spark", changed)
def merge(place: Place) -> Iterator[Measured]:
    """Merge two branches that each changed a fifth of the entries. The row count is the changes of one of them."""
    yield from by_each(
        place, EngineTask("merge of two changed fifths", place.size // _SHARE, _merged, _commit_at(_LEFT))
    )


@scenario("spark", changed)
def diff(place: Place) -> Iterator[Measured]:
    """Count the entries that differ between the two branches."""
    yield from by_each(place, EngineTask("diff of two changed fifths", 2 * place.size // _SHARE, _counted, _summary))


def _commit(name: str, place: Place) -> EngineTask:
    return EngineTask(name, place.size, _committed, _commit_at("main"))


def _committed(repo: Repository) -> object:
    return repo.branch("main").commit("All")


def _compacted(repo: Repository) -> object:
    return repo.branch("main").compact()


def _merged(repo: Repository) -> object:
    return repo.merge(_RIGHT, into=_LEFT)


def _counted(repo: Repository) -> object:
    return repo.diff_summary(_LEFT, _RIGHT)


def _summary(repo: Repository, result: object) -> str:
    return str(result)


def _commit_at(ref: str) -> partial[str]:
    """Return a function that identifies the content of a commit: its tree id and its digest of operations.

    The commit id itself also depends on the time of the commit.
    """
    return partial(_identity, ref)


def _identity(ref: str, repo: Repository, result: object) -> str:
    stores = repo._stores
    header = commit_of(stores, repo._active(), repo.commit(ref).id).header
    return f"{repo.at(ref).tree_id()} {header.operations}"
