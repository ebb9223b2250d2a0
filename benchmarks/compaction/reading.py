"""Reads of a branch before and after a compaction: after many tombstones, and with many layers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial

import numpy as np

from benchmarks import entries
from benchmarks.committed.reading import first_page
from benchmarks.committed.series import cold_and_warm
from benchmarks.core import put_rows
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.codec.entry import tombstone_table
from graveler_core.engine.staging.bulk import SEGMENT_ROWS
from graveler_core.errors import NotFound
from graveler_core.facade.branch import Branch

_BEHIND = 10_000
"""Number of remaining entries, whose keys come after the removed ones."""
_GETS = 1_000
_ENTRIES = 100_000
"""Number of committed entries below the layers."""
_LAYERS = {"tokens": 100, "files": SEGMENT_ROWS}
"""Number of changes per layer. A small layer is a staging token with rows, a large one is a file."""
HOW = ("one by one", "in bulk")
"""Ways of removing entries."""


def removed_entries(place: Place) -> None:
    """Create a repository with two branches on which the first entries are removed: one by one, and in bulk.

    The size is the number of removed entries. 10,000 entries remain.
    """
    with place.connect() as g:
        repo = place.create(g)
        main = repo.branch("main")
        main.stage_many(entries.first(place.size + _BEHIND))
        main.commit("all entries")
        gone = entries.keys(np.arange(place.size)).to_pylist()
        put_rows(
            place, repo.create_branch(name_of(HOW[0]), source="main"), tombstone_table([path.encode() for path in gone])
        )
        repo.create_branch(name_of(HOW[1]), source="main").remove_many(gone)


def layers(place: Place) -> None:
    """Create a repository with 100,000 entries, and a branch with layers of each kind.

    The size is the number of layers. The layers change only entries with even numbers.
    """
    with place.connect() as g:
        repo = place.create(g)
        main = repo.branch("main")
        main.stage_many(entries.first(_ENTRIES))
        main.commit("all entries")
        for kind, count in _LAYERS.items():
            branch = repo.create_branch(kind, source="main")
            for number in range(max(1, place.size - 1)):
                if number == place.size - 2:
                    # With this row staged, the last bulk write adds two layers. Bulk writes alone cannot make 100.
                    branch.stage(entries.key(0), entries.one(0, number))
                branch.stage_many(entries.spread(_ENTRIES, count, 2 * number))


@scenario("compaction", removed_entries, sizes=(1_000, 10_000, 100_000, 1_000_000), counts="tombstones")
def read_behind_tombstones(place: Place) -> Iterator[Measured]:
    """Read the first page and single entries of a branch whose first entries are all removed."""
    here, gone = entries.key(place.size + _BEHIND // 2), entries.key(place.size // 2)
    for how in HOW:

        def read(branch: Branch, when: str, how: str = how) -> Iterator[Measured]:
            yield from cold_and_warm(f"first page, removed {how}{when}", partial(first_page, branch))
            yield clocked(partial(branch.get, here), _GETS).named(f"get, removed {how}{when}")
            yield clocked(partial(_get_nothing, branch, gone), _GETS).named(f"get of a path removed {how}{when}")

        yield from _before_and_after(place, name_of(how), read)


@scenario("compaction", layers, sizes=(1, 10, 30, 100), counts="layers")
def read_through_layers(place: Place) -> Iterator[Measured]:
    """Read the first page, and single entries that are in no layer."""
    for kind, count in _LAYERS.items():
        what = f"layers are {kind} of {count:,}"

        def read(branch: Branch, when: str, what: str = what) -> Iterator[Measured]:
            yield from cold_and_warm(f"first page, {what}{when}", partial(first_page, branch))
            yield clocked(partial(branch.get, entries.key(_ENTRIES - 1)), _GETS).named(f"get, {what}{when}")

        yield from _before_and_after(place, kind, read)


def _before_and_after(place: Place, name: str, read: Callable[[Branch, str], Iterator[Measured]]) -> Iterator[Measured]:
    """Measure reads before and after a compaction, each time with cold caches."""
    with place.connect() as g:
        yield from read(place.repo(g).branch(name), "")
    with place.connect() as g:
        place.repo(g).branch(name).compact()
    with place.connect() as g:
        yield from read(place.repo(g).branch(name), ", compacted")


def _get_nothing(branch: Branch, path: str) -> None:
    with suppress(NotFound):
        branch.get(path)


def name_of(how: str) -> str:
    """Return the name of the branch on which entries were removed in this way."""
    return "removed-" + how.replace(" ", "-")
