"""A source in shares: key intervals that machines without anything in common list, all of them the whole source.

What is done with a share is done where it is listed, so that no page of it ever comes to the driver. A share that is
listed again, by a retry, may find other objects; each listing is right for what it found, and one of them is taken.
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
from graveler_core.engine.importing.side_by_side import in_parts
from graveler_core.model.address import Namespace
from graveler_core.stores import Cluster, Stores

CUTS = 512
"""Directories that are looked for, a request each, before a listing is shared out."""
SIDE = 4
"""Of them so many make a share, which lists them side by side: a request of 50 ms brings 14 ms of a core's work."""
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class Share:
    """What is listed behind one key and up to another (None: from the first, to the last), in order of the keys."""

    after: bytes | None
    through: bytes | None
    pages: Iterator[pa.Table]
    """In `LISTED`."""


Work: TypeAlias = Callable[[Stores, Share], U]
"""What is done with a share. Picklable."""


class Shares(Protocol):
    """A source that can be listed on many machines."""

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """What `work` gives of every share, in order of the keys, lazily."""
        ...


@dataclass(frozen=True, slots=True)
class ListedShares:
    """A place of an object store, cut at its directories."""

    place: Namespace

    def each(self, stores: Stores, cluster: Cluster, work: Work[U]) -> Iterator[U]:
        """As the protocol says. The cuts are found here, one request after the other."""
        bounds = ["", *stores.blobs.foreign(self.place).cuts(CUTS), None]
        shares = [tuple(bounds[at : at + SIDE + 1]) for at in range(0, len(bounds) - 1, SIDE)]
        return cluster.map(partial(_listing, self.place, work), shares)


def _listing(place: Namespace, work: Work[U], stores: Stores, bounds: Sequence[str | None]) -> U:
    """In a worker: one share."""
    with closing(in_parts(stores.blobs.foreign(place), bounds, marked)) as pages:
        return work(stores, Share(_key(bounds[0]), _key(bounds[-1]), pages))


def _key(bound: str | None) -> bytes | None:
    return os.fsencode(bound) if bound else None


def marked(objects: Foreign, page: pa.Table) -> pa.Table:
    """The page with a slash behind the keys of what only marks a directory."""
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
