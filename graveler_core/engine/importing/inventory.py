"""Inventory of a bucket as a source: files that list its objects, as S3 Inventory writes them (`blobs.inventory`).

The inventory shows an earlier state. An import from it may therefore refer to objects that no longer exist.

A cluster reads an inventory in partitions. Its files are in no order, so rows of any partition may be in each of
them. A first pass samples the keys of every file. The samples show the size of the inventory, and the split points
of partitions of about equal size. In a second pass, the cluster sorts the rows of all files by partition.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.inventory import InventoryFile, InventoryFiles
from graveler_core.engine.importing.concurrent_listing import Told, unheard
from graveler_core.engine.importing.partitions import PartitionedSource, SourcePartition, U, Work
from graveler_core.engine.importing.sources import ObjectsBelow
from graveler_core.errors import InvalidInput, Kind
from graveler_core.model.counting import counted
from graveler_core.segments.sorted_keys import KEY
from graveler_core.stores import Cluster, Stores


@dataclass(frozen=True, slots=True)
class Inventory(ObjectsBelow):
    """Objects that the inventory at a URI lists below a place (`blobs.inventory`)."""

    uri: str
    rising = False

    def pages(self, stores: Stores, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects, as the protocol specifies.

        Raises:
            NotFound: There are no files.
            InvalidInput: A file is damaged, or lacks a column.
        """
        for file in self.files(stores):
            yield from self.read(stores, file, told)

    def partitions(self) -> PartitionedSource:
        return InventoryPartitions(self)

    def files(self, stores: Stores) -> list[InventoryFile]:
        """Return the files of the inventory."""
        return InventoryFiles(self.uri, self.place).files(stores.blobs)

    def read(self, stores: Stores, file: InventoryFile, told: Told = unheard) -> Iterator[pa.Table]:
        """Yield the objects of the place from one of the files, in `LISTED`."""
        return InventoryFiles(self.uri, self.place).read(stores.blobs, file, told)


SAMPLE = 256
"""Number of keys that are sampled from a file."""


@dataclass(frozen=True, slots=True)
class Sample:
    """Sorted keys of a file at about equal distances, and the number of rows of the file."""

    keys: tuple[bytes, ...]
    rows: int


@dataclass(frozen=True, slots=True)
class InventoryPartitions:
    """Inventory divided into partitions by key."""

    inventory: Inventory

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """Process each partition, as the protocol specifies. The driver holds the names of the files and a few keys of
        each.
        """
        files = self.inventory.files(stores)
        samples = list(cluster.map(partial(_sampling, self.inventory), files))
        partitions = cluster.tasks(sum(sample.rows for sample in samples))
        cuts = sampled_split_points(samples, partitions)
        return cluster.sort(partial(_file_read, self.inventory), files, cuts, partial(_sorting, work, tuple(cuts)))


def sampled_split_points(samples: Iterable[Sample], partitions: int) -> list[bytes]:
    """Return ascending keys that divide the sampled rows into at most `partitions` partitions of about equal size."""
    weighted = sorted((key, sample.rows / len(sample.keys)) for sample in samples for key in sample.keys)
    if not weighted:
        return []
    keys, weights = zip(*weighted, strict=True)
    before = np.cumsum(weights)
    wished = np.arange(1, partitions) * (before[-1] / partitions)
    return sorted({keys[at] for at in np.searchsorted(before, wished)})


def _sampling(inventory: Inventory, stores: Stores, file: InventoryFile) -> Sample:
    """Sample keys of a file, in a worker."""
    chunks = [page.column(KEY) for page in inventory.read(stores, file)]
    keys = pa.chunked_array(list(chain.from_iterable(chunk.chunks for chunk in chunks)), pa.binary())
    if not len(keys):
        return Sample((), 0)
    order = pc.sort_indices(keys)
    chosen = order.take(pa.array(np.linspace(0, len(keys) - 1, min(len(keys), SAMPLE)).astype(np.int64)))
    return Sample(tuple(keys.take(chosen).to_pylist()), len(keys))


def _file_read(inventory: Inventory, stores: Stores, file: InventoryFile) -> Iterator[pa.Table]:
    """Read a file, in a worker."""
    return inventory.read(stores, file)


def _sorting(work: Work[U], cuts: Sequence[bytes], stores: Stores, number: int, pages: Iterator[pa.Table]) -> U:
    """Process one partition, in a worker."""
    after, through = list(pairwise((None, *cuts, None)))[number]
    return work(stores, SourcePartition(after, through, _once(pages)))


def _once(pages: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Yield the pages. Raise `InvalidInput` if a key is listed again."""
    last = pa.array([], pa.binary())
    for page in pages:
        keys = pa.concat_arrays([last, *page.column(KEY).chunks])
        doubled = pc.sum(pc.equal(keys[:-1], keys[1:]), min_count=0).as_py()
        if doubled:
            raise InvalidInput(
                f"import: {counted(doubled, 'key is', 'keys are')} listed again; an inventory must list one version of "
                "each object",
                kind=Kind.InvalidPath,
            )
        last = keys[len(keys) - 1 :]
        yield page
