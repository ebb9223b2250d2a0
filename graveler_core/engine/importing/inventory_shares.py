"""An inventory in shares: its files are read on many machines, which sort what they hold by key among themselves.

Files are in no order, so every share may be in each of them. A first pass takes a few keys of every file; they tell how
large the inventory is, and where to cut it so that shares are about equal. In the second the cluster sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.engine.importing.shares import Share, U, Work
from graveler_core.errors import InvalidInput, Kind
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Cluster, Stores

if TYPE_CHECKING:
    from graveler_core.engine.importing.inventory import File, Inventory

SAMPLE = 256
"""Keys that are taken of a file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Some keys of a file, sorted, about as many rows apart from each other, and how many rows there are."""

    keys: tuple[bytes, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class InventoryShares:
    """An inventory, cut at keys."""

    inventory: Inventory

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """As the protocol says. The driver holds the names of the files and a few keys of each."""
        files = self.inventory.files(stores)
        samples = list(cluster.map(partial(_sampling, self.inventory), files))
        pieces = cluster.pieces(sum(sample.rows for sample in samples))
        cuts = cut_keys(samples, pieces)
        return cluster.sort(partial(_file_read, self.inventory), files, cuts, partial(_sorting, work, tuple(cuts)))


def cut_keys(samples: Iterable[Sample], pieces: int) -> list[bytes]:
    """Rising keys that cut what was sampled into about equal pieces, so many at most."""
    weighted = sorted((key, sample.rows / len(sample.keys)) for sample in samples for key in sample.keys)
    if not weighted:
        return []
    keys, weights = zip(*weighted, strict=True)
    before = np.cumsum(weights)
    wished = np.arange(1, pieces) * (before[-1] / pieces)
    return sorted({keys[at] for at in np.searchsorted(before, wished)})


def _sampling(inventory: Inventory, stores: Stores, file: File) -> Sample:
    """In a worker: some keys of a file."""
    chunks = [page.column(KEY) for page in inventory.read(stores, file)]
    keys = pa.chunked_array(list(chain.from_iterable(chunk.chunks for chunk in chunks)), pa.binary())
    if not len(keys):
        return Sample((), 0)
    order = pc.sort_indices(keys)
    chosen = order.take(pa.array(np.linspace(0, len(keys) - 1, min(len(keys), SAMPLE)).astype(np.int64)))
    return Sample(tuple(keys.take(chosen).to_pylist()), len(keys))


def _file_read(inventory: Inventory, stores: Stores, file: File) -> Iterator[pa.Table]:
    """In a worker: a file."""
    return inventory.read(stores, file)


def _sorting(work: Work[U], cuts: Sequence[bytes], stores: Stores, number: int, pages: Iterator[pa.Table]) -> U:
    """In a worker: one share."""
    after, through = list(pairwise((None, *cuts, None)))[number]
    return work(stores, Share(after, through, _once(pages)))


def _once(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """The pages; `InvalidInput` where a key is listed again."""
    last = pa.array([], pa.binary())
    for page in pages:
        keys = pa.concat_arrays([last, *page.column(KEY).chunks])
        doubled = pc.sum(pc.equal(keys[:-1], keys[1:]), min_count=0).as_py()
        if doubled:
            raise InvalidInput(
                f"import: {doubled:,} keys are listed again; an inventory must list one version of each object",
                kind=Kind.InvalidPath,
            )
        last = keys[len(keys) - 1 :]
        yield page
