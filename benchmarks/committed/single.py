"""Work on single changes: transactions of one put, commits of one put, diffs and merges of one change."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import entries
from benchmarks.committed.changes import Draw
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import metered
from benchmarks.committed.series import CallLimit, Ready, series
from benchmarks.core import committed_entries
from benchmarks.scenario import Measured, Place, scenario
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository

_CALLS = 1_000
_SECONDS = 10.0
_UNMEASURED = 20
_CONTENT = bytes(100)


@scenario("committed", committed_entries, sizes=(100_000,))
def single_changes(place: Place) -> Iterator[Measured]:
    """Put one entry in a transaction, put content and commit it, list a diff of one change, and merge one change.

    The destination of each merge has not moved since the merge base. There are 1,000 calls of each, or `--commits`.
    """
    limit = CallLimit(place.commits or _CALLS, _SECONDS, unmeasured=_UNMEASURED)
    work: dict[str, Callable[[Repository], Ready]] = {
        "transact of 1 put": lambda repo: transaction(repo.branch("main"), Draw(place.size), 1),
        "put of 100 bytes and commit": lambda repo: _put_and_commit(repo.create_branch("puts", source="main")),
        "diff of 1 change": _diffs,
        "merge of 1 change": _merges,
    }
    with metered(place) as (g, meter):
        repo = place.repo(g)
        for name, ready in work.items():
            found = series(ready(repo), limit, meter)
            yield from found.times(name)
            yield Measured(f"{name}: calls", "per s", (found.per_second(),))


def _put_and_commit(branch: Branch) -> Ready:
    def once(number: int) -> None:
        branch.put(f"put/{number:08}", _CONTENT)
        branch.commit("put")

    return lambda number: partial(once, number)


def _diffs(repo: Repository) -> Ready:
    call = partial(_listed, repo, _changed(repo))
    return lambda number: call


def _listed(repo: Repository, branch: str) -> int:
    return len(list(repo.diff("main", branch)))


def _merges(repo: Repository) -> Ready:
    source = _changed(repo)

    def ready(number: int) -> Callable[[], object]:
        into = repo.create_branch(f"into-{number}", source=f"{source}~1").id
        return partial(repo.merge, source, into=into)

    return ready


def _changed(repo: Repository) -> str:
    """Return the name of a branch that is one change ahead of `main`."""
    number = len(list(repo.branches()))
    branch = repo.create_branch(f"changed-{number}", source="main")
    branch.stage(entries.key(0), entries.one(0, number))
    branch.commit("change 1")
    return branch.id
