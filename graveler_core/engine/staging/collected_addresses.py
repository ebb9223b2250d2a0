"""Search for addresses in the sets of a collection record.

A set never changes. A process therefore reads each file once, and caches fingerprints of its addresses: four bytes for
each. Different addresses may have the same fingerprint, so a file is read again if it has the fingerprint of an address
that is searched for.
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

Fingerprints: TypeAlias = NDArray[np.uint32]
_SEED = 0
"""Seed of the hashes of which fingerprints are the lower halves."""


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
    """
    prints = _fingerprints(addresses)
    doubtful = []
    for one in sets:
        for file, inside in condemned.covering(one, addresses):
            known = stores.ranges.get(_id(blobs, one, file))
            if known is None or _meet(known, prints[inside.to_numpy(zero_copy_only=False)]):
                doubtful.append((one, file, addresses.filter(inside)))

    def found(place: tuple[CondemnedSet, SortedFile, pa.StringArray]) -> list[str]:
        one, file, asked = place
        names = condemned.read_file(blobs, one, file).column("address")
        kept = np.sort(_fingerprints(names))
        stores.ranges.put(_id(blobs, one, file), kept, kept.nbytes)
        shared: list[str] = names.filter(pc.is_in(names, value_set=asked)).to_pylist()
        return shared

    for part in stores.executor.map(found, doubtful):
        yield from part


def _fingerprints(addresses: pa.Array | pa.ChunkedArray) -> Fingerprints:
    return key_hashes(addresses.cast(pa.binary()), _SEED).astype(np.uint32)


def _meet(known: Fingerprints, prints: Fingerprints) -> bool:
    """Return `True` if sorted fingerprints contain one of some others."""
    at = np.minimum(np.searchsorted(known, prints), len(known) - 1)
    return bool((known[at] == prints).any())


def _id(blobs: Blobs, one: CondemnedSet, file: SortedFile) -> tuple[str, str, str]:
    return blobs.uri(one.id), file.name, "fingerprints"
