"""Size of ranges: the cost of creating, changing and cold reading trees with several mean sizes.

It calls the functions for trees directly, on local files. Commits would say little about the tree, because small
changes go to the layered index above it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pyarrow as pa

from benchmarks import entries
from benchmarks.committed.changes import Draw
from benchmarks.scenario import Measured, Place, clocked, scenario
from graveler_core.blobs.addresses import OWN
from graveler_core.blobs.open import OpenedBlobs
from graveler_core.blobs.port import Blobs
from graveler_core.codec.entry import normalise
from graveler_core.committed.apply import apply
from graveler_core.committed.cache import TreeCache
from graveler_core.committed.diff import diff
from graveler_core.committed.lookup import lookup
from graveler_core.committed.node import EMPTY
from graveler_core.committed.scan import scan
from graveler_core.committed.trees import Trees, encoded, write_node
from graveler_core.model.ids import MetarangeId
from graveler_core.segments.boundary import Cutting

_MEANS = (2_048, 4_096, 8_192, 16_384, 32_768, 65_536)
_GETS = 30
_CHANGES = 1_000


def nothing(place: Place) -> None:
    """Do nothing: the measurement builds its own trees."""


@scenario("committed", nothing)
def range_sizes(place: Place) -> Iterator[Measured]:
    """Build a tree, change 1,000 entries and one, read single entries and a page, and diff. All caches are cold."""
    everything = normalise(entries.first(place.size))
    for mean in _MEANS:
        with _blobs() as blobs:
            yield from _costs(f"ranges of {mean:,}", partial(_cold, blobs, Cutting(mean_entries=mean)), everything)


def _costs(name: str, cold: Callable[[], Trees], everything: pa.Table) -> Iterator[Measured]:
    size = everything.num_rows
    draw = Draw(size)
    trees = cold()
    id, data = encoded(EMPTY)
    write_node(trees, id, data, EMPTY)
    made: list[MetarangeId] = []
    steps = {"make": everything, "change 1,000": normalise(draw.table(_CHANGES)), "change 1": normalise(draw.table(1))}
    for step, changes in steps.items():
        base = made[0] if made else MetarangeId(id)
        applying = partial(apply, cold(), base, changes)
        yield clocked(lambda: made.append(applying().metarange_id)).named(f"{name}: {step}")  # noqa: B023 - called in this iteration
    files = [blob.size for blob in trees.blobs.list()]
    yield Measured(f"{name}: files", "files", (float(len(files)),))
    keys = iter([entries.key(number).encode() for number in draw.numbers(_GETS)])
    yield clocked(lambda: lookup(cold(), made[0], next(keys)), min(_GETS, size)).named(f"{name}: get")
    page = partial(next, scan(cold(), made[0], start=entries.key(size // 2).encode()))
    yield clocked(page).named(f"{name}: page")
    for changes, number in (("1,000", 1), ("1", 2)):
        whole = partial(sum, (len(page) for page in diff(cold(), made[0], made[number])))
        yield clocked(whole).named(f"{name}: diff of {changes}")


def _cold(blobs: Blobs, cutting: Cutting) -> Trees:
    return Trees(blobs, 7, cutting, TreeCache())


@contextmanager
def _blobs() -> Iterator[Blobs]:
    with tempfile.TemporaryDirectory() as directory:
        Path(directory, "data", OWN).mkdir(parents=True)
        yield OpenedBlobs(durable=False).at(f"file://{directory}/data")
