"""Commits, compactions, merges and counted differences: alone and by Spark, with the same outcome."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.scenario import Measured, Place, scenario
from benchmarks.spark.engines import Task, by_each, filled, stage_numbers, tree
from graveler_core.codec.entry import normalise
from graveler_core.engine.view import commit_of
from graveler_core.facade.repository import Repository

_LEFT, _RIGHT = "left", "right"
_SHARE = 5
"""Up to a tenth of the entries, changes wait above the tree, and are never work for many machines."""


def staged(place: Place) -> None:
    """All entries staged on `main` in bulk, a million a call."""
    filled(place, lambda repo: stage_numbers(repo.branch("main"), place.size))


def staged_rows(place: Place) -> None:
    """All entries staged on `main` as one key-value row each, and counted, as calls of `stage` would count them."""
    records = normalise(entries.first(place.size))

    def fill(repo: Repository) -> None:
        main = repo.branch("main")
        put_rows(place, main, records)
        main.pressure(exact=True)

    filled(place, fill)


def staged_among(place: Place) -> None:
    """As many entries committed on `main` as are staged there, each between two of the others."""

    def fill(repo: Repository) -> None:
        main = repo.branch("main")
        stage_numbers(main, place.size, step=2)
        main.commit("Some")
        stage_numbers(main, place.size, step=2, first=1)

    filled(place, fill)


def changed(place: Place) -> None:
    """All entries on `main`; two branches that each changed a fifth of them, none in common."""

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
    """On an empty branch."""
    yield from by_each(place, _commit("commit on nothing", place))


@scenario("spark", staged_rows)
def commit_rows(place: Place) -> Iterator[Measured]:
    """On an empty branch, staged one by one."""
    yield from by_each(place, _commit("commit of rows on nothing", place))


@scenario("spark", staged_among)
def commit_among(place: Place) -> Iterator[Measured]:
    """On a branch with as many others."""
    yield from by_each(place, _commit("commit among as many", place))


@scenario("spark", staged_among)
def compact(place: Place) -> Iterator[Measured]:
    """On a branch with as many others."""
    yield from by_each(place, Task("compact among as many", place.size, _compacted, tree("main")))


@scenario("spark", changed)
def merge(place: Place) -> Iterator[Measured]:
    """Of two branches that each changed a fifth; counted is what one of them changed."""
    yield from by_each(place, Task("merge of a fifth and a fifth", place.size // _SHARE, _merged, _commit_at(_LEFT)))


@scenario("spark", changed)
def diff(place: Place) -> Iterator[Measured]:
    """Of these branches, counted: the entries that differ."""
    yield from by_each(place, Task("diff of two fifths", 2 * place.size // _SHARE, _counted, _summary))


def _commit(name: str, place: Place) -> Task:
    return Task(name, place.size, _committed, _commit_at("main"))


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
    """Tree and digest of operations: what of a commit's id no clock decides."""
    return partial(_identity, ref)


def _identity(ref: str, repo: Repository, result: object) -> str:
    stores = repo._stores  # the handle's own parts
    header = commit_of(stores, repo._active(), repo.commit(ref).id).header
    return f"{repo.at(ref).tree_id()} {header.operations}"
