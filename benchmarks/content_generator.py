"""The suite `content_generator`: the loads of Nessie's content generator. Source: seed 002, performance test results.

A commit is one transaction of checked puts, as in Nessie: each put expects that its path has no entry.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks import entries
from benchmarks.core import empty_repository
from benchmarks.scenario import Clocked, Measured, Place, clocked, scenario
from graveler_core.facade.branch import Branch
from graveler_core.model.entry import Entry
from graveler_core.model.operations import Put

PUTS = 10
"""Puts of each commit of `random_puts`."""
_LISTED = 1_000
_LATE_COMMITS = 4_000
_STAGED_AT_ONCE = 500_000
Key = Callable[[random.Random, int], str]


def short_key(chance: random.Random, number: int) -> str:
    """Return a random key of 10 characters. It is unique for each number below 36 ** 5."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    tail = "".join(digits[number // 36**place % 36] for place in range(5))
    return "".join(chance.choices(digits, k=5)) + tail


def long_key(chance: random.Random, number: int) -> str:
    """Return a random key of more than 250 characters: a folder for 150 keys, a group for 20 of them, and its own
    part.
    """

    def uuid(seed: str) -> UUID:
        return UUID(int=random.Random(seed).getrandbits(128))

    folder, group = uuid(f"folder {number // 150}"), uuid(f"group {number // 20}")
    own = [UUID(int=chance.getrandbits(128)) for _ in range(4)]
    return f"stuff-folders/stuff-{folder}/foolish-key_{group}/{'.'.join(map(str, own))}_{number}"


_KEYS: dict[str, Key] = {"keys of 10 characters": short_key, "keys of 250 characters": long_key}


def nearly_full(place: Place) -> None:
    """Create a branch for each length of keys, with the entries of all earlier commits in one commit."""
    with place.connect() as g:
        repo = place.create(g)
        for name, key in _KEYS.items():
            branch, chance = repo.create_branch(name.replace(" ", "-"), source="main"), random.Random(7)
            keys = pa.array((key(chance, number).encode() for number in range(place.size * PUTS)), pa.binary())
            table = entries.first(len(keys)).set_column(0, "key", keys.take(pc.sort_indices(keys)))
            for start in range(0, table.num_rows, _STAGED_AT_ONCE):
                branch.stage_many(table.slice(start, _STAGED_AT_ONCE))
            branch.commit("earlier commits")


@scenario("content_generator", empty_repository, sizes=(5_000, 1_000_000), counts="puts")
def one_commit(place: Place) -> Iterator[Measured]:
    """Make one commit of many puts, and a commit of one put after it."""
    with place.connect() as g:
        main = place.repo(g).branch("main")
        puts = [Put(entries.key(number), entries.one(number, 0)) for number in range(place.size)]
        yield clocked(lambda: main.transact(puts, message="all")).named("one commit of all puts")
        last = Put("last", entries.one(0, 1))
        yield clocked(lambda: main.transact([last], message="one")).named("the next commit of one put")


@scenario("content_generator", empty_repository, sizes=(200_000,), counts="commits")
def random_puts(place: Place) -> Iterator[Measured]:
    """Make commits of 10 puts at random keys, of 10 and of more than 250 characters."""
    for name, key in _KEYS.items():
        yield from _committed(place, name, key)


@scenario("content_generator", nearly_full, sizes=(190_000,), counts="earlier commits")
def late_puts(place: Place) -> Iterator[Measured]:
    """Make 4,000 commits, or `--commits`, as `random_puts` does, on a branch with the entries of earlier commits."""
    for name, key in _KEYS.items():
        chance, found = random.Random(8), list[Clocked]()
        with place.connect() as g:
            branch = place.repo(g).branch(name.replace(" ", "-"))
            for commit in range(place.size, place.size + (place.commits or _LATE_COMMITS)):
                found.append(clocked(_commit_of(branch, key, chance, commit)))
        yield Clocked.joined(found).named(f"commit of {PUTS} puts, {name}, after {place.size:,} commits")


def _committed(place: Place, name: str, key: Key) -> Iterator[Measured]:
    """Make the commits on a new branch that begins empty."""
    chance, found = random.Random(7), list[Clocked]()
    with place.connect() as g:
        main = place.repo(g).create_branch(name.replace(" ", "-"), source="main")
        began = time.perf_counter()
        for commit in range(place.size):
            found.append(clocked(_commit_of(main, key, chance, commit)))
        rate = place.size / (time.perf_counter() - began)
        times = Clocked.joined(found)
        yield times.named(f"commit of {PUTS} puts, {name}")
        yield times[-max(1, place.size // 10) :].named(f"commit of {PUTS} puts, {name}, the last tenth")
        yield Measured(f"commits, {name}", "per s", (rate,))
        yield clocked(lambda: list(islice(main.list(), _LISTED))).named(f"first 1,000 entries, {name}")


def _commit_of(branch: Branch, key: Key, chance: random.Random, commit: int) -> Callable[[], object]:
    """Return the call that makes one of the commits. Its puts are made at once, so that they are not timed."""
    numbers = range(commit * PUTS, (commit + 1) * PUTS)
    puts = [Put(key(chance, number), _content(number)) for number in numbers]
    return lambda: branch.transact(puts, message="random puts")


@scenario("content_generator", empty_repository, sizes=(10_000,), counts="branches")
def many_branches(place: Place) -> Iterator[Measured]:
    """Create many branches with a commit each, list them, and delete them under the expected commit."""
    with place.connect() as g:
        repo = place.repo(g)
        names = [f"branch-{number:07}" for number in range(place.size)]
        created, committed, deleted = list[Clocked](), list[Clocked](), list[Clocked]()
        heads: dict[str, str] = {}
        for number, name in enumerate(names):
            created.append(clocked(lambda: repo.create_branch(name, source="main")))  # noqa: B023
            branch, put = repo.branch(name), Put("one", _content(number))
            committed.append(clocked(lambda: branch.transact([put], message="one")))  # noqa: B023
            heads[name] = branch.record().commit_id
        yield Clocked.joined(created).named("create branch, among many")
        yield Clocked.joined(committed).named("commit of one put, each on its own branch")
        yield clocked(lambda: list(repo.branches())).named("list all branches")
        middle = names[len(names) // 2]
        yield clocked(lambda: list(repo.branches(start=middle, limit=100)), 20).named(
            "list 100 branches from the middle"
        )
        for name in names:
            deleted.append(clocked(lambda: repo.delete_branch(name, expected=heads[name])))  # noqa: B023
        yield Clocked.joined(deleted).named("delete branch, among many")


def _content(number: int) -> Entry:
    return replace(entries.one(number, 0), path="")
