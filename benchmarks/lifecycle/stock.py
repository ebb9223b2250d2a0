"""A large repository: records staged one by one, and a tenth as many commits of one change each.

Commits beyond `_CALLS` change nothing and are written in batches, because a million calls of `commit` would take an
hour. Their headers and layouts look like those of other commits.
"""

from __future__ import annotations

from benchmarks import entries
from benchmarks.core import put_rows
from benchmarks.scenario import Place
from graveler_core.codec.entry import normalise
from graveler_core.engine.committing.draft import CommitContent, Draft, new_commit
from graveler_core.engine.protocol.registers import fresh
from graveler_core.engine.protocol.swap import swap
from graveler_core.engine.reading.view import commit_of
from graveler_core.facade.repository import Repository
from graveler_core.kv.bulk import set_many
from graveler_core.model.ids import BranchId, Nonce

_RECORDS_A_COMMIT = 10
_CALLS = 100_000
"""Maximum number of commits that are made by calls of `commit`."""
_A_WRITE = 1_000
_PATHS = 1_000
"""Number of paths that the commits change in turn."""


def commits_of(place: Place) -> int:
    """Return the number of commits: the value of `--commits`, or a tenth of the size."""
    return place.commits or max(1, place.size // _RECORDS_A_COMMIT)


def fill(place: Place, repo: Repository) -> None:
    """Add commits to `main`, and then stage as many records as the size says."""
    main = repo.branch("main")
    wanted = commits_of(place)
    for number in range(min(wanted, _CALLS)):
        main.stage(entries.key(number % _PATHS), entries.one(number % _PATHS, number))
        main.commit(f"change {number}")
    _lengthen(repo, main.id, wanted - _CALLS)
    put_rows(place, main, normalise(entries.first(place.size)))


def _lengthen(repo: Repository, branch: BranchId, count: int) -> None:
    """Add `count` commits that change nothing to a branch."""
    stores = repo._stores
    now = fresh(stores, repo.id, branch)
    head = commit_of(stores, now.repository, now.branch.commit_id)
    index, waiting = head.layout.index, list[tuple[bytes, bytes, bytes]]()
    for number in range(count):
        said = CommitContent(index, head.header.operations, (head,), Nonce(f"{number:032x}"))
        head, writes = new_commit(stores, now, Draft(f"nothing {number}"), said)
        waiting += writes
        if len(waiting) >= _A_WRITE:
            set_many(stores.kv, waiting)
            waiting = []
    set_many(stores.kv, waiting)
    if count > 0 and swap(stores, now, now.branch.model_copy(update={"commit_id": head.id})) is None:
        raise RuntimeError("the branch was changed by another process while commits were added")


def filled_repository(place: Place) -> None:
    """Create the repository of the run and fill it."""
    with place.connect() as g:
        fill(place, place.create(g))
