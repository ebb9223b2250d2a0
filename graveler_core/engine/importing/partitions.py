"""Partitions of a source: key intervals that together cover the whole source and that separate machines list.

A partition is processed where it is listed, so none of its pages is sent to the driver. A partition that is listed
again, in a retry, may contain other objects. Each listing is correct for what it found, and one of them is used.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.blobs.port import LISTED, Foreign
from graveler_core.engine.importing.concurrent_listing import listed_concurrently
from graveler_core.model.address import Namespace
from graveler_core.stores import Cluster, Stores

CUTS = 512
"""Maximum number of directories to look for, with one request each, before a listing is divided."""
SIDE = 4
"""Number of prefixes that one task lists concurrently. A request of 50 ms produces 14 ms of work for a core."""
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class SourcePartition:
    """Objects after one key and up to another (`None`: from the first, to the last), in key order."""

    after: bytes | None
    through: bytes | None
    pages: Iterator[pa.Table]
    """Pages in `LISTED`."""


Work: TypeAlias = Callable[[Stores, SourcePartition], U]
"""Function that processes a partition. Picklable."""


class PartitionedSource(Protocol):
    """Source that many machines can list."""

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """Yield the result of `work` for each partition, lazily and in key order."""


@dataclass(frozen=True, slots=True)
class ListedPartitions:
    """Place of an object store, divided at its directories."""

    place: Namespace

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """Process each partition, as the protocol specifies. The split points are found on this machine, with one
        request after the other.
        """
        bounds = ["", *stores.blobs.foreign(self.place).split_points(CUTS), None]
        shares = [tuple(bounds[at : at + SIDE + 1]) for at in range(0, len(bounds) - 1, SIDE)]
        return cluster.map(partial(_listing, self.place, work), shares)


def _listing(place: Namespace, work: Work[U], stores: Stores, bounds: Sequence[str | None]) -> U:
    """List one partition, in a worker."""
    with closing(listed_concurrently(stores.blobs.foreign(place), bounds, marked)) as pages:
        return work(stores, SourcePartition(_key(bounds[0]), _key(bounds[-1]), pages))


def _key(bound: str | None) -> bytes | None:
    return os.fsencode(bound) if bound else None


def marked(objects: Foreign, page: pa.Table) -> pa.Table:
    """Return the page with a slash after the keys of objects that only mark a directory."""
    empty = np.flatnonzero(page.column("size").to_numpy() == 0)
    keys = page.column("key").combine_chunks()
    known = [objects.head(os.fsdecode(key)) for key in keys.take(pa.array(empty)).to_pylist()]
    markers = empty[[info is None for info in known]] if known else empty
    if not len(markers):
        return page
    mask = np.zeros(page.num_rows, np.bool_)
    mask[markers] = True
    slashed = pc.binary_join_element_wise(keys.take(pa.array(markers)), b"/", b"")
    return page.set_column(0, LISTED.field("key"), pc.replace_with_mask(keys, pa.array(mask), slashed))
