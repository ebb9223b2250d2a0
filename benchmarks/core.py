"""The suite `core`: stage, commit, read, diff, merge and create branches through the public API."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

from benchmarks import entries
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.codec.entry import normalise
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.facade.snapshot import Snapshot
from graveler_core.kv.registry import open_store
from graveler_core.staging.area import put_table

_ALL_SIZES = (10_000, 100_000, 1_000_000)
_STAGED = 2_000
_SMALL_COMMITS = 40
_CHANGES = (1, 1_000, 100_000)
_LAYERS = 50


def empty_repository(place: Place) -> None:
    """Create a repository that contains only its first, empty commit."""
    with place.connect() as g:
        place.create(g)


def committed_entries(place: Place) -> None:
    """Create a repository with all entries committed on `main`."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        main.stage_many(entries.first(place.size))
        main.commit("all entries")


def staged_entries(place: Place) -> None:
    """Create a repository with all entries staged on `main` as one key-value row each, as single `stage` calls do."""
    with place.connect() as g:
        put_rows(place, place.create(g).branch("main"), normalise(entries.first(place.size)))


def put_rows(place: Place, branch: Branch, records: pa.Table) -> None:
    """Stage records as one key-value row each, by writing directly to the key-value store."""
    store = open_store(place.store)
    put_table(store, branch.record().staging_token, records)
    store.close()


def staged_in_bulk(place: Place) -> None:
    """Create a repository with all entries staged on `main` by one call of `stage_many`."""
    with place.connect() as g:
        place.create(g).branch("main").stage_many(entries.first(place.size))


def layers_in_turn(place: Place) -> None:
    """Create a repository with all entries staged on `main` by many calls of `stage_many` with disjoint key ranges."""
    each = place.size // _LAYERS
    _stage_layers(place, (np.arange(first, first + each) for first in range(0, each * _LAYERS, each)))


def layers_across(place: Place) -> None:
    """Create a repository like `layers_in_turn`, but the keys of each call are spread over the whole key range."""
    _stage_layers(place, (np.arange(first, place.size, _LAYERS) for first in range(_LAYERS)))


def _stage_layers(place: Place, layers: Iterator[np.ndarray[tuple[int], np.dtype[np.int64]]]) -> None:
    with place.connect() as g:
        main = place.create(g).branch("main")
        for numbers in layers:
            main.stage_many(entries.entries(numbers))


def changed_branches(place: Place) -> None:
    """Create a repository with all entries on `main`, and branches with changes that are spread over all keys.

    There is one branch `changed-N` for each number of changes. A branch `other` changes 1,000 different entries.
    """
    committed_entries(place)
    with place.connect() as g:
        repo = place.repo(g)
        for name, count, seed in [*((f"changed-{n}", n, 1) for n in _CHANGES), ("other", 1_000, 2)]:
            branch = repo.create_branch(name, source="main")
            branch.stage_many(entries.spread(place.size, count, seed))
            branch.commit(f"change {count:,}")


@scenario("core", empty_repository, sizes=(_STAGED,), runs=3)
def stage(place: Place) -> Iterator[Measured]:
    """Stage single entries one after another."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        wanted = [(entries.key(i), entries.one(i, 0)) for i in range(place.size)]
        main.stage(*wanted[0])
        taken = clocked(lambda: [main.stage(path, entry) for path, entry in wanted])
        yield Measured("stage one by one", "per s", (place.size / taken.wall[0] * 1e3,))
        yield Clocked((taken.wall[0] / place.size,), (taken.cpu[0] / place.size,)).named("stage one")


@scenario("core", empty_repository, sizes=_ALL_SIZES, runs=3)
def stage_and_commit(place: Place) -> Iterator[Measured]:
    """Stage and commit a table in memory."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        table = entries.first(place.size)
        staged = clocked(lambda: main.stage_many(table))
        committed = clocked(lambda: main.commit("bulk"))
        yield staged.named("stage_many")
        yield committed.named("commit, staged in bulk")


@scenario("core", staged_entries, sizes=_ALL_SIZES, runs=3)
def commit_staged(place: Place) -> Iterator[Measured]:
    """Commit entries that were staged one by one."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        yield clocked(lambda: main.commit("rows")).named("commit, staged one by one")


@scenario("core", staged_in_bulk)
def commit_bulk(place: Place) -> Iterator[Measured]:
    """Commit entries that were staged in bulk, in a process of its own, to measure the peak memory."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        yield clocked(lambda: main.commit("bulk")).named("commit alone, staged in bulk")


@scenario("core", layers_in_turn, sizes=(10_000_000,))
def commit_layers(place: Place) -> Iterator[Measured]:
    """Commit many layers with disjoint key ranges, to measure the peak memory."""
    yield _layers_committed(place).named(f"commit of {_LAYERS} layers in turn")


@scenario("core", layers_across, sizes=(10_000_000,))
def commit_layers_across(place: Place) -> Iterator[Measured]:
    """Commit many layers that each cover the whole key range, to measure the peak memory."""
    yield _layers_committed(place).named(f"commit of {_LAYERS} layers across each other")


def _layers_committed(place: Place) -> Clocked:
    with place.connect() as g:
        main = place.repo(g).branch("main")
        return clocked(lambda: main.commit("bulk"))


@scenario("core", committed_entries)
def read(place: Place) -> Iterator[Measured]:
    """Read single entries and pages of a branch and of a commit."""
    with place.connect() as g:
        repo = place.repo(g)
        main, at = repo.branch("main"), repo.at("main@")
        middle = entries.key(place.size // 2)
        yield clocked(partial(main.get, middle)).named("get, committed, cold")
        yield clocked(partial(main.get, middle), 1_000).named("get, committed, warm")
        yield clocked(partial(at.get, middle), 1_000).named("get at a commit, warm")
        pages = clocked(partial(_page, main.list, entries.key(place.size // 4)), 101)
        yield pages[:1].named("page of 1,000, cold")
        yield pages[1:].named("page of 1,000, warm")
        yield clocked(lambda: _columns(at, place.size // 4), 100).named("page of 1,000 as columns, warm")
        yield clocked(lambda: list(main.list(limit=200_000)), 3).named("scan of 200,000")
        main.stage(middle, entries.one(0, 5))
        yield clocked(partial(main.get, middle), 1_000).named("get, staged, warm")
        yield clocked(lambda: _page(main.list, middle), 100).named("page of 1,000, one staged, warm")


@scenario("core", changed_branches)
def diff(place: Place) -> Iterator[Measured]:
    """Compare a branch with the commit it started from: as a list of changes and as counts."""
    for count in _CHANGES:
        with place.connect() as g:
            repo = place.repo(g)
            taken = clocked(lambda: list(repo.diff("main", f"changed-{count}")), 6)  # noqa: B023
            yield taken[:1].named(f"diff, {_changes(count)}, cold")
            yield taken[1:].named(f"diff, {_changes(count)}, warm")
        with place.connect() as g:
            repo = place.repo(g)
            taken = clocked(lambda: repo.diff_summary("main", f"changed-{count}"), 6)  # noqa: B023
            yield taken[:1].named(f"diff, {_changes(count)}, counted, cold")
            yield taken[1:].named(f"diff, {_changes(count)}, counted, warm")


@scenario("core", changed_branches)
def merge(place: Place) -> Iterator[Measured]:
    """Merge changes into a branch that changed 1,000 other entries. Each warm merge repeats this on a new branch."""
    for count in _CHANGES:
        with place.connect() as g:
            repo = place.repo(g)
            taken = sum((_merged(repo, f"changed-{count}", f"into-{count}-{i}") for i in range(6)), Clocked())
            yield taken[:1].named(f"merge, {count:,} against 1,000, cold")
            yield taken[1:].named(f"merge, {count:,} against 1,000, warm")


@scenario("core", committed_entries)
def small_commit(place: Place) -> Iterator[Measured]:
    """Commit random overwrites that were staged one by one. Only the commit is timed."""
    random.seed(7)
    with place.connect() as g:
        main = place.repo(g).branch("main")
        for count in (1, 10, 100):
            times = Clocked()
            written: list[float] = []
            for turn in range(_SMALL_COMMITS):
                for number in random.sample(range(place.size), count):
                    main.stage(entries.key(number), entries.one(number, 1 + turn * 1_000 + count))
                before = _bytes_below(place.data)
                times += clocked(lambda: main.commit("small"))
                written.append((_bytes_below(place.data) - before) / 1e3)
            yield times[2:].named(f"commit of {count} random {'change' if count == 1 else 'changes'}")
            if place.data.startswith("file:"):
                yield Measured(f"written by a commit of {count}", "kB", tuple(written))


@scenario("core", empty_repository, sizes=(0,))
def branch(place: Place) -> Iterator[Measured]:
    """Create branches, and commit one entry in a small repository."""
    with place.connect() as g:
        repo = place.repo(g)
        names = iter(f"branch-{i}" for i in range(1_000))
        yield clocked(lambda: repo.create_branch(next(names), source="main"), 300).named("create branch")
        small = repo.branch("main")

        def cycle() -> None:
            small.stage("one", entries.one(int.from_bytes(os.urandom(4), "big"), 1))
            small.commit("one")

        yield clocked(cycle, 200).named("stage 1 and commit, small repository")


def _page(listing: Callable[..., Iterator[object]], after: str) -> int:
    return len(list(listing(after=after, limit=1_000)))


def _columns(at: Snapshot, number: int) -> int:
    """Read the page that contains the key of a number as Arrow columns, and return its number of rows."""
    prefix = entries.key(number).rpartition("/")[0]
    return sum(batch.num_rows for batch in islice(at.to_arrow(prefix), 1))


def _merged(repo: Repository, source: str, into: str) -> Clocked:
    repo.create_branch(into, source="other")
    return clocked(lambda: repo.merge(source, into=into))


def _changes(count: int) -> str:
    return f"{count:,} {'change' if count == 1 else 'changes'}"


def _bytes_below(data: str) -> int:
    """Return the size in bytes of all metadata files of a local storage namespace; 0 for other namespaces."""
    if not data.startswith("file:"):
        return 0
    with os.scandir(Path(urlsplit(data).path, "_graveler")) as files:
        return sum(file.stat().st_size for file in files if file.is_file())
