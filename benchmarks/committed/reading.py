"""Reads of committed entries: after many small commits, by directories, and after many removals."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import islice

from benchmarks import entries
from benchmarks.committed.changes import Draw
from benchmarks.committed.commits import transaction
from benchmarks.committed.meter import metered
from benchmarks.committed.series import CallLimit, cold_and_warm, series
from benchmarks.core import committed_entries, put_rows
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.codec.entry import tombstone_table
from graveler_core.facade.branch import Branch
from graveler_core.facade.snapshot import Snapshot

_COMMITS = 2_000
_SECONDS = 60.0
_GETS = 1_000
_PAGE = 1_000
_REMOVED = (
    "by one prefix",
    "one by one",
    "one by one, sealed",
    "in bulk",
    "one by one, compacted",
    "one by one, committed",
)


def small_commits(place: Place) -> None:
    """Create a repository with all entries on `main`, and run 2,000 transactions, or `--commits`, of 10 overwrites."""
    committed_entries(place)
    with metered(place) as (g, meter):
        ready = transaction(place.repo(g).branch("main"), Draw(place.size), 10)
        series(ready, CallLimit(place.commits or _COMMITS, _SECONDS), meter)


def directory_tree(place: Place) -> None:
    """Create a repository with entries in directories of three levels: 10, 100 and 100 directories."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        main.stage_many(entries.nested(place.size))
        main.commit("all entries")


def removed_entries(place: Place) -> None:
    """Create a repository with branches that removed the first directory, a tenth of the entries, in different ways."""
    directory_tree(place)
    with place.connect() as g:
        repo = place.repo(g)
        gone = [entry.path for entry in repo.at("main").list(prefix="0/")]
        for how in _REMOVED:
            branch = repo.create_branch(_name(how), source="main")
            if how == "by one prefix":
                branch.remove_prefix("0/")
            elif how == "in bulk":
                branch.remove_many(gone)
            else:
                put_rows(place, branch, tombstone_table([path.encode() for path in gone]))
            if how.endswith("sealed"):
                branch.remove_prefix("nothing/")
            if how.endswith("compacted"):
                branch.compact()
            elif how.endswith("committed"):
                branch.commit("remove")


@scenario("committed", small_commits)
def read_after_commits(place: Place) -> Iterator[Measured]:
    """Read single entries and pages of a branch and of its head commit."""
    middle, quarter = entries.key(place.size // 2), entries.key(place.size // 4)
    with place.connect() as g:
        main = place.repo(g).branch("main")
        yield clocked(partial(main.get, middle)).named("get, cold")
        yield clocked(partial(main.get, middle), _GETS).named("get, warm")
    with place.connect() as g:
        at = place.repo(g).at("main@")
        yield clocked(partial(at.get, middle)).named("get at a commit, cold")
        yield clocked(partial(at.get, middle), _GETS).named("get at a commit, warm")
        paths = iter([entries.key(number) for number in Draw(place.size).numbers(_GETS)])
        yield clocked(lambda: at.get(next(paths)), min(_GETS, place.size)).named("get at a commit, random keys")
    with place.connect() as g:
        main = place.repo(g).branch("main")
        yield from cold_and_warm("page of 1,000", lambda: list(main.list(after=quarter, limit=_PAGE)))
    with place.connect() as g:
        at, prefix = place.repo(g).at("main@"), quarter.rpartition("/")[0]
        yield from cold_and_warm("page as columns", lambda: list(islice(at.to_arrow(prefix), 1)))


@scenario("committed", directory_tree)
def list_directories(place: Place) -> Iterator[Measured]:
    """List directories with a delimiter. The listing skips the content of each directory, regardless of its size."""
    for name, prefix in [("the 10 of the root", ""), ("100 in one", "5/"), ("100 of the lowest in one", "5/50/")]:
        with place.connect() as g:
            main = place.repo(g).branch("main")
            yield from cold_and_warm(f"directories, {name}", partial(_directories, main, prefix))
        with place.connect() as g:
            at = place.repo(g).at("main@")
            yield from cold_and_warm(f"directories at a commit, {name}", partial(_directories, at, prefix))


@scenario("committed", removed_entries)
def list_removed(place: Place) -> Iterator[Measured]:
    """Read the first page of a branch whose first tenth of entries was removed."""
    for how in _REMOVED:
        with place.connect() as g:
            branch = place.repo(g).branch(_name(how))
            yield from cold_and_warm(f"first page, a tenth removed {how}", partial(first_page, branch))


def _directories(shown: Branch | Snapshot, prefix: str) -> int:
    return sum(1 for _ in shown.list(prefix=prefix, delimiter="/"))


def first_page(branch: Branch) -> int:
    """Read the first page of up to 1,000 entries, and return its number of entries."""
    return sum(1 for _ in branch.list(limit=_PAGE))


def _name(how: str) -> str:
    return "removed-" + how.replace(", ", "-").replace(" ", "-")
