"""Collections of content, with and without a retention rule, and an erasure: a large commit and many small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks import entries
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.erasure.report import Erased
from graveler_core.errors import InvalidInput
from graveler_core.gc.collected import Collected
from graveler_core.model.address import namespace
from graveler_core.model.entry import Entry

_COMMITS = 1_000
_UNNAMED = 10
"""One of so many objects has no name."""
_REPLACED = 3
"""The last commit replaces one of so many entries."""
_INVENTORY = "-inventory"
"""Suffix of the directory of the inventory."""
_AT_ONCE = timedelta(0)
_ERASED, _PREFIX = 10_000, "people/"
"""Number and prefix of the paths that are erased."""


def stored_content(place: Place) -> None:
    """Create one empty object for each entry, and a tenth as many without a name, and commit the entries."""
    with place.connect() as g:
        main = place.create(g).branch("main")
        blobs = main._stores.blobs.at(place.data)
        for number in range(place.size + place.size // _UNNAMED):
            blobs.create(f"data/{number:032x}", b"")
        keys = entries.keys(np.arange(place.size))
        addresses = pa.array([f"data/{number:032x}" for number in range(place.size)])
        main.stage_many(pa.table({"key": keys, "address": addresses, "size": np.zeros(place.size, np.int64)}))
        main.commit("all")
        for number in range(place.commits or _COMMITS):
            main.stage(entries.key(number), Entry(f"data/{number:032x}", 1))
            main.commit(f"change {number}")


@scenario("lifecycle", stored_content, sizes=(100_000, 1_000_000), counts="objects")
def collect(place: Place) -> Iterator[Measured]:
    """Find the objects without a name, and then condemn and delete them."""
    done: list[Collected] = []
    what = f"of {place.size:,} objects and {place.commits or _COMMITS:,} commits"
    with place.connect() as g:
        repo = place.repo(g)
        found = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, dry_run=True, alone=True)))
        yield found.named(f"find the objects without a name {what}")
        taken = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, alone=True)))
        yield taken.named(f"condemn and delete a tenth {what}")
    if [each.condemned for each in done] != [place.size // _UNNAMED] * 2 or done[1].deleted != done[1].condemned:
        raise RuntimeError(f"collected too much or too little: {done}")


def inventoried_content(place: Place) -> None:
    """Commit entries, and write an inventory that lists their objects and a tenth as many without a name. Only the
    objects without a name exist, as empty files: a collection touches no others.
    """
    home = namespace(place.data)
    if home.scheme != "file":
        raise InvalidInput(f"{place.data}: the inventory lists a local directory")
    with place.connect() as g:
        main = place.create(g).branch("main")
        addresses = _addresses(0, place.size)
        main.stage_many(pa.table({"key": entries.keys(np.arange(place.size)), "address": addresses}))
        main.commit("all")
        for number in range(place.commits or _COMMITS):
            main.stage(entries.key(number), Entry(f"data/{number:032x}", 1))
            main.commit(f"change {number}")
        lost = _addresses(place.size, place.size + place.size // _UNNAMED)
        blobs = main._stores.blobs.at(place.data)
        for address in lost:
            blobs.create(address.as_py(), b"")
    directory, written = Path(f"/{home.path}{_INVENTORY}"), datetime.now(UTC)
    directory.mkdir()
    for number, listed in enumerate((addresses, lost)):
        keys = pc.binary_join_element_wise(home.path, listed, "/")
        columns = {
            "key": keys,
            "size": pa.repeat(0, len(listed)),
            "last_modified_date": pa.repeat(written, len(listed)),
        }
        pq.write_table(pa.table(columns), directory / f"{number}.parquet")


def _addresses(start: int, end: int) -> pa.Array:
    return pa.array(f"data/{number:032x}" for number in range(start, end))


def _noted(done: list[Collected], collection: Callable[[], Collected]) -> None:
    done.append(collection())


@scenario("lifecycle", inventoried_content, sizes=(100_000, 10_000_000), counts="objects")
def collect_by_inventory(place: Place) -> Iterator[Measured]:
    """Find the objects of an inventory that have no name, and then condemn and delete them."""
    done, inventory = list[Collected](), place.data + _INVENTORY
    what = f"of {place.size:,} objects and {place.commits or _COMMITS:,} commits"
    with place.connect() as g:
        repo = place.repo(g)
        for dry_run, doing in ((True, "find the objects without a name"), (False, "condemn and delete a tenth")):
            collection = partial(repo.collect, grace=_AT_ONCE, dry_run=dry_run, alone=True, inventory=inventory)
            yield clocked(partial(_noted, done, collection)).named(f"{doing} {what}")
    if [each.condemned for each in done] != [place.size // _UNNAMED] * 2 or done[1].deleted != done[1].condemned:
        raise RuntimeError(f"collected too much or too little: {done}")


def replaced_content(place: Place) -> None:
    """Create one empty object for each entry, of which 10,000 have a common prefix, and commit the entries. Replace one
    entry in each small commit, and a third of all in the last one.
    """
    with place.connect() as g:
        main = place.create(g).branch("main")
        blobs = main._stores.blobs.at(place.data)
        commits = place.commits or _COMMITS
        for number in range(place.size + commits + place.size // _REPLACED):
            blobs.create(f"data/{number:032x}", b"")
        keys = entries.keys(np.arange(place.size)).to_pylist()
        keys[:_ERASED] = [f"{_PREFIX}{number:08}" for number in range(min(_ERASED, place.size))]
        addresses = pa.array([f"data/{number:032x}" for number in range(place.size)])
        main.stage_many(pa.table({"key": keys, "address": addresses, "size": np.zeros(place.size, np.int64)}))
        main.commit("all")
        for number in range(commits):
            main.stage(keys[number], Entry(f"data/{place.size + number:032x}", 0))
            main.commit(f"change {number}")
        first = place.size + commits
        changed = {"key": keys[::_REPLACED][: place.size // _REPLACED]}
        changed["address"] = [f"data/{first + number:032x}" for number in range(len(changed["key"]))]
        main.stage_many(pa.table(changed))
        main.commit("many changes")


@scenario("lifecycle", replaced_content, sizes=(100_000, 1_000_000), counts="objects")
def expire(place: Place) -> Iterator[Measured]:
    """Find, and then delete, the content of commits that a rule does not keep."""
    commits, done = place.commits or _COMMITS, list[Collected]()
    what = f"of {place.size:,} objects and {commits:,} commits, of which only the head is kept"
    with place.connect() as g:
        repo = place.repo(g)
        repo.set_retention(0)
        found = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, dry_run=True, alone=True)))
        yield found.named(f"find the expired content {what}")
        taken = clocked(lambda: done.append(repo.collect(grace=_AT_ONCE, alone=True)))
        yield taken.named(f"condemn and delete the expired content {what}")
    if done[1].deleted_expired < place.size // _REPLACED or done[1].expired < commits:
        raise RuntimeError(f"collected too much or too little: {done}")


@scenario("lifecycle", replaced_content, sizes=(100_000, 1_000_000), counts="objects")
def erase(place: Place) -> Iterator[Measured]:
    """Erase the content of a prefix with 10,000 paths in all history."""
    paths = min(_ERASED, place.size)
    what = f"of {place.size:,} objects and {place.commits or _COMMITS:,} commits"
    with place.connect() as g:
        repo, done = place.repo(g), list[Erased]()
        found = clocked(lambda: done.append(repo.erase(prefix=_PREFIX, why="measured", dry_run=True)))
        yield found.named(f"find the content of {paths:,} paths {what}")
        taken = clocked(lambda: done.append(repo.erase(prefix=_PREFIX, why="measured")))
        yield taken.named(f"erase the content of {paths:,} paths {what}")
        if not done[0].objects == done[1].objects >= paths or list(repo.branch("main").list(_PREFIX)):
            raise RuntimeError(f"erased too much or too little: {done}")
