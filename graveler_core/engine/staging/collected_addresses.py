"""Search for addresses in the sets of a collection record.

A set never changes. A process therefore reads each file once, and caches fingerprints of its addresses: eight bytes for
each. A file is read again if it has the fingerprint of an address that is searched for, or if the cache has no room for
its fingerprints. A file is decoded part by part, because it may have millions of addresses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.blobs.port import Blobs
from graveler_core.model.collection import CondemnedSet, SortedFile
from graveler_core.objects import condemned
from graveler_core.segments.boundary import key_hashes
from graveler_core.stores import Stores

Fingerprints: TypeAlias = NDArray[np.uint64]
_SEED = 0
"""Seed of the hashes that are the fingerprints."""


def collected_among(
    stores: Stores, blobs: Blobs, sets: Sequence[CondemnedSet], addresses: pa.StringArray
) -> Iterator[str]:
    """Yield those of some addresses that belong to sets.

    Args:
        stores: Stores of the flow.
        blobs: Storage namespace of the sets.
        sets: The sets.
        addresses: Addresses relative to the namespace, in any order.

    Raises:
        CorruptData: A file is missing or damaged.
        MemoryError: There is too little memory for a part of a file. Damage may cause this, too.
    """
    prints = _fingerprints(addresses)
    doubtful = []
    for one in sets:
        for file, inside in condemned.covering(one, addresses):
            known = stores.collected.get(_id(blobs, one, file))
            if known is None or _meet(known, prints[inside.to_numpy(zero_copy_only=False)]):
                doubtful.append((one, file, addresses.filter(inside), known is None))

    def found(place: tuple[CondemnedSet, SortedFile, pa.StringArray, bool]) -> list[str]:
        one, file, asked, new = place
        keeps = new and stores.collected.has_room_for(file.count * np.dtype(np.uint64).itemsize)
        kept, shared = list[Fingerprints](), list[str]()
        for names in condemned.addresses(blobs, one, file):
            if keeps:
                kept.append(_fingerprints(names))
            near = pc.and_(pc.greater_equal(asked, names[0]), pc.less_equal(asked, names[-1]))
            shared += names.filter(pc.is_in(names, asked.filter(near))).to_pylist()
        if keeps:
            known = np.sort(np.concatenate(kept))
            stores.collected.put(_id(blobs, one, file), known, known.nbytes)
        return shared

    for part in stores.executor.map(found, doubtful):
        yield from part


def _fingerprints(addresses: pa.StringArray) -> Fingerprints:
    return key_hashes(addresses.cast(pa.binary()), _SEED)


def _meet(known: Fingerprints, prints: Fingerprints) -> bool:
    """Return `True` if sorted fingerprints contain one of some others."""
    at = np.minimum(np.searchsorted(known, prints), len(known) - 1)
    return bool((known[at] == prints).any())


def _id(blobs: Blobs, one: CondemnedSet, file: SortedFile) -> tuple[str, str]:
    return blobs.uri(one.id), file.name
