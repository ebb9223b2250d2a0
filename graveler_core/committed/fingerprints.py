"""Fingerprints of the keys of ranges. They tell which keys a range does not have, without decoding it again.

New paths are mostly spread over all ranges. The cache has room for the decoded entries of about a million paths, but
for the fingerprints of fifty times as many, so a commit of new paths costs the same in small and in large repositories.
Different keys may have the same fingerprint: only the absence of a fingerprint decides.

Repositories of a process share the cache, and may have equal ranges. Fingerprints therefore depend on the range alone,
not on the boundary seed of a repository.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from graveler_core.committed.node import NodeRow
from graveler_core.committed.trees import Trees
from graveler_core.segments.boundary import key_hash, key_hashes

_SEED = 0
"""Seed of the hashes of which fingerprints are the lower halves."""


def keep_fingerprints(trees: Trees, row: NodeRow, keys: pa.Array) -> None:
    """Cache the fingerprints of a range, from all of its keys."""
    found = np.sort(key_hashes(keys, _SEED).astype(np.uint32))
    trees.cache.put(_id(row), found, found.nbytes)


def without_absent(trees: Trees, row: NodeRow, keys: Sequence[bytes]) -> Sequence[bytes]:
    """Return the keys without those that the range is known not to have, in the same order.

    If the fingerprints of the range are not cached, or ranges are verified, all keys are returned.
    """
    known = None if trees.verify else trees.cache.get(_id(row))
    if known is None:
        return keys
    wanted = np.array([key_hash(key, _SEED) for key in keys], np.uint64).astype(np.uint32)
    there = known[np.minimum(np.searchsorted(known, wanted), len(known) - 1)] == wanted
    return keys if there.all() else [key for key, found in zip(keys, there.tolist(), strict=True) if found]


def _id(row: NodeRow) -> tuple[str, str]:
    return row.id, "fingerprints"
