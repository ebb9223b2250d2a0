"""Commits of few and of many changes, on few and on many entries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from benchmarks import entries
from benchmarks.committed.changes import Draw, whatever_is_there
from benchmarks.committed.meter import Meter, metered
from benchmarks.committed.series import Ready, Series, Span, series
from benchmarks.core import committed_entries, empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch

_COUNTS = (1, 10, 100, 1_000, 10_000)
_ONE_BY_ONE = 100
"""More changes than that are staged in bulk."""
_TRANSACTED = 1_000
"""More operations than that are no transaction's business."""
_COMMITS = 200
_SECONDS = 1.5


def entries_if_any(place: Place) -> None:
    """All entries committed on `main`, or an empty repository."""
    if place.size:
        committed_entries(place)
    else:
        empty_repository(place)


@scenario("committed", empty_repository)
def bulk(place: Place) -> Iterator[Measured]:
    """All entries in one commit, a tenth of them changed in another, and the small commit that comes next."""
    with metered(place) as (g, meter):
        main = place.repo(g).branch("main")
        tenth = max(1, place.size // 10)
        table, changed = entries.first(place.size), entries.spread(place.size, tenth, 1)
        yield from _bulk("all entries", lambda: main.stage_many(table), main, (meter, place.size))
        yield from _bulk("a tenth changed", lambda: main.stage_many(changed), main, (meter, len(changed)))
        yield from _bulk("the next change", lambda: main.stage(entries.key(0), entries.one(0, 9)), main, (meter, 1))


@scenario("committed", entries_if_any, sizes=(0, 1_000, 10_000, 100_000, 1_000_000))
def commit_changes(place: Place) -> Iterator[Measured]:
    """Random overwrites (new entries where there are none), staged and committed, and transacted; each on `main` anew.

    The commit alone is timed, not the staging. 200 of each, or `--commits`, as far as a time allows.
    """
    with metered(place) as (g, meter):
        repo, span = place.repo(g), Span(place.commits or _COMMITS, _SECONDS)
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
    """Transactions of random puts, whatever is there."""

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
    """Staging and commit apart, and what they wrote for each of the changes."""
    meter, changes = of
    before = meter.read()
    staged: Clocked = clocked(stage)
    between = meter.read()
    committed = clocked(lambda: branch.commit(name))
    after = meter.read()
    yield staged.named(f"stage, {name}")
    yield committed.named(f"commit, {name}")
    yield Measured(f"written by staging, {name}", "B a change", ((between - before).written / changes,))
    yield Measured(f"written by the commit, {name}", "B a change", ((after - between).written / changes,))
