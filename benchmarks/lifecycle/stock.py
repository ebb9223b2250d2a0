"""A repository with much in it: records staged one by one, and a tenth as many commits of one change each.

Of more commits than `_CALLS`, the later ones change nothing and are stored many at a time: to whoever reads headers and
layouts they are commits like the others, and a million of them do not take an hour to make.
"""

from __future__ import annotations

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.scenario import Place
from graveler_core.codec.entry import normalise
from graveler_core.engine.draft import Content, Draft, build
from graveler_core.engine.registers import fresh
from graveler_core.engine.swap import swap
from graveler_core.engine.view import commit_of
from graveler_core.facade.repository import Repository
from graveler_core.kv.bulk import set_many
from graveler_core.model.ids import BranchId, Nonce

_RECORDS_A_COMMIT = 10
_CALLS = 100_000
"""Commits that are made by calls."""
_A_WRITE = 1_000
_PATHS = 1_000
"""That commits change in turn."""


def commits_of(place: Place) -> int:
    """How many commits are made; `--commits` in place of it."""
    return place.commits or max(1, place.size // _RECORDS_A_COMMIT)


def fill(place: Place, repo: Repository) -> None:
    """Commits on `main`, then staged records on it: as many as the size."""
    main = repo.branch("main")
    wanted = commits_of(place)
    for number in range(min(wanted, _CALLS)):
        main.stage(entries.key(number % _PATHS), entries.one(number % _PATHS, number))
        main.commit(f"change {number}")
    _lengthen(repo, main.id, wanted - _CALLS)
    put_rows(place, main, normalise(entries.first(place.size)))


def _lengthen(repo: Repository, branch: BranchId, count: int) -> None:
    """So many more commits on a branch, which change nothing."""
    stores = repo._stores  # the handle's own parts
    now = fresh(stores, repo.id, branch)
    head = commit_of(stores, now.repository, now.branch.commit_id)
    index, waiting = head.layout.index, list[tuple[bytes, bytes, bytes]]()
    for number in range(count):
        said = Content(index, head.header.operations, (head,), Nonce(f"{number:032x}"))
        head, writes = build(stores, now, Draft(f"nothing {number}"), said)
        waiting += writes
        if len(waiting) >= _A_WRITE:
            set_many(stores.kv, waiting)
            waiting = []
    set_many(stores.kv, waiting)
    if count > 0 and swap(stores, now, now.branch.model_copy(update={"commit_id": head.id})) is None:
        raise RuntimeError("somebody else is at work in the repository that is filled")


def filled_repository(place: Place) -> None:
    """The run's repository, filled."""
    with place.connect() as g:
        fill(place, place.create(g))
