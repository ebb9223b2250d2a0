"""Commits of few and many changes in repositories with few and many entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import entries
from benchmarks.committed.changes import Draw, whatever_is_there
from benchmarks.committed.meter import Meter, metered
from benchmarks.committed.series import CallLimit, Ready, Series, series
from benchmarks.core import committed_entries, empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch

_COUNTS = (1, 10, 100, 1_000, 10_000)
_ONE_BY_ONE = 100
"""Largest number of changes that are staged one by one. More are staged in bulk."""
_TRANSACTED = 1_000
"""Largest number of operations in a measured transaction."""
_COMMITS = 200
_SECONDS = 1.5


def entries_if_any(place: Place) -> None:
    """Create a repository with all entries committed on `main`, or an empty one if the size is 0."""
    if place.size:
        committed_entries(place)
    else:
        empty_repository(place)


@scenario("committed", empty_repository)
def bulk(place: Place) -> Iterator[Measured]:
    """Commit all entries, then changes of a tenth of them, then one change."""
    with metered(place) as (g, meter):
        main = place.repo(g).branch("main")
        tenth = max(1, place.size // 10)
        table, changed = entries.first(place.size), entries.spread(place.size, tenth, 1)
        yield from _bulk("all entries", lambda: main.stage_many(table), main, (meter, place.size))
        yield from _bulk("a tenth changed", lambda: main.stage_many(changed), main, (meter, len(changed)))
        yield from _bulk("the next change", lambda: main.stage(entries.key(0), entries.one(0, 9)), main, (meter, 1))


@scenario("committed", entries_if_any, sizes=(0, 1_000, 10_000, 100_000, 1_000_000))
def commit_changes(place: Place) -> Iterator[Measured]:
    """Commit random overwrites: staged and committed, and as transactions. In an empty repository, add new entries.

    Each series starts on a new branch of `main`. Staging is not timed. A series has 200 commits, or `--commits`, and
    ends earlier after a time limit.
    """
    with metered(place) as (g, meter):
        repo, span = place.repo(g), CallLimit(place.commits or _COMMITS, _SECONDS)
        for count in _COUNTS:
            if place.size and count > place.size:
                continue
            changes = f"{count:,} random {'change' if count == 1 else 'changes'}"
            staged = repo.create_branch(f"staged-{count}", source="main")
            yield from _rows("commit", changes, series(_staged(staged, Draw(place.size), count), span, meter))
            if count <= _TRANSACTED:
                transacted = repo.create_branch(f"transacted-{count}", source="main")
                ready = transaction(transacted, Draw(place.size), count)
                yield from _rows("transact", changes, series(ready, span, meter))


def transaction(branch: Branch, draw: Draw, count: int) -> Ready:
    """Return transactions of `count` random puts, which overwrite existing entries."""

    def ready(number: int) -> Callable[[], object]:
        return partial(branch.transact, draw.puts(count), message=f"{number}", on_conflict=whatever_is_there)

    return ready


def _staged(branch: Branch, draw: Draw, count: int) -> Ready:
    def ready(number: int) -> Callable[[], object]:
        if count <= _ONE_BY_ONE:
            for put in draw.puts(count):
                branch.stage(put.path, put.entry)
        else:
            branch.stage_many(draw.table(count))
        return partial(branch.commit, f"{number}")

    return ready


def _rows(verb: str, changes: str, found: Series) -> Iterator[Measured]:
    yield from found.times(f"{verb} of {changes}")
    yield found.written(f"written by a {verb} of {changes}")


def _bulk(name: str, stage: Callable[[], object], branch: Branch, of: tuple[Meter, int]) -> Iterator[Measured]:
    """Measure staging and commit separately, with the bytes that each wrote per change."""
    meter, changes = of
    before = meter.read()
    staged: Clocked = clocked(stage)
    between = meter.read()
    committed = clocked(lambda: branch.commit(name))
    after = meter.read()
    yield staged.named(f"stage, {name}")
    yield committed.named(f"commit, {name}")
    yield Measured(f"written by staging, {name}", "B per change", ((between - before).written / changes,))
    yield Measured(f"written by the commit, {name}", "B per change", ((after - between).written / changes,))
