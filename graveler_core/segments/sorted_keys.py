"""Binary search in the sorted `key` column of a table. Keys are compared as bytes."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.errors import InvalidInput

Keys: TypeAlias = pa.Array | pa.ChunkedArray

KEY = "key"
_ONE_BY_ONE = 64
"""Maximum number of keys to search one by one, which reads few keys of the table. Other methods read all of them."""
_HAS_SEARCH_SORTED = hasattr(pc, "search_sorted")


class SortedKeys:
    """Sorted keys of a table, for many searches of single keys: every `step`-th key is held as a Python value.

    Reading a key from an Arrow array takes as long as comparing it with a dozen values.
    """

    def __init__(self, keys: pa.Array, step: int) -> None:
        self.array = keys
        self._step = step
        self._held: list[bytes] = (
            keys if step == 1 else keys.take(pa.array(np.arange(0, len(keys), step)))
        ).to_pylist()

    def lower_bound(self, key: bytes, low: int = 0) -> int:
        """Return the position of the first key, from position `low` on, that is not less than `key`."""
        last = bisect_left(self._held, key) * self._step
        first = max(low, last - self._step + 1)
        return first if first >= last else lower_bound(self.array, key, first, min(last, len(self.array)))

    def position(self, key: bytes) -> int | None:
        """Return the position of a key, or `None`."""
        at = self.lower_bound(key)
        return None if at == len(self.array) or self.array[at].as_py() != key else at


class SearchableTable(NamedTuple):
    """Sorted table, with its keys ready for searches."""

    table: pa.Table
    keys: SortedKeys


def lower_bound(keys: Keys, key: bytes, low: int = 0, high: int | None = None) -> int:
    """Return the position of the first key, from `low` up to `high` (`None`: the end), that is not less than `key`, or
    `high` if there is none, in O(log n).
    """
    high = len(keys) if high is None else high
    while low < high:
        middle = (low + high) // 2
        if keys[middle].as_py() < key:
            low = middle + 1
        else:
            high = middle
    return low


def upper_bound(keys: pa.Array | pa.ChunkedArray, key: bytes) -> int:
    """Return the position of the first key that is greater than `key`, in O(log n)."""
    return lower_bound(keys, key + b"\0")


def between(table: pa.Table, start: bytes = b"", end: bytes | None = None) -> pa.Table:
    """Return the rows with `start` ≤ key < `end`, without copying. `None` as `end` means no limit."""
    keys = table.column(KEY)
    first = lower_bound(keys, start) if start else 0
    last = len(keys) if end is None else lower_bound(keys, end)
    if first == 0 and last == len(keys):
        return table
    return table.slice(first, max(0, last - first))


def positions(keys: Keys, probes: Keys) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Find many sorted keys in sorted keys.

    Args:
        keys: The sorted keys to search in, without nulls.
        probes: The sorted keys to find, without nulls.

    Returns:
        For each probe the position of the first key that is not less than it, and whether that key equals it.
    """
    if len(keys) == 0 or len(probes) == 0:
        return np.zeros(len(probes), np.int64), np.zeros(len(probes), np.bool_)
    at = _search(keys, probes)
    nearest = keys.take(pa.array(np.minimum(at, len(keys) - 1)))
    found: NDArray[np.bool_] = pc.equal(nearest, probes).to_numpy(zero_copy_only=False)
    return at, found & (at < len(keys))


def found_at(keys: SortedKeys, probes: Sequence[bytes]) -> NDArray[np.int64]:
    """Return the positions of those of the sorted `probes` that the keys contain."""
    if len(probes) > _ONE_BY_ONE:
        at, there = positions(keys.array, pa.array(probes, pa.binary()))
        return at[there]
    found = map(keys.position, probes)
    return np.array([at for at in found if at is not None], np.int64)


def require_increasing(table: pa.Table) -> None:
    """Check that keys are strictly ascending.

    Raises:
        InvalidInput: A key is not greater than the previous one.
    """
    keys = table.column(KEY)
    if len(keys) > 1 and not pc.all(pc.less(keys[:-1], keys[1:])).as_py():
        raise InvalidInput("keys must be sorted as bytes, each at most once")


def _search(keys: Keys, probes: Keys) -> NDArray[np.int64]:
    """Return, for each probe, the number of keys that are less than it."""
    if not _HAS_SEARCH_SORTED:
        return _search_by_sorting(keys, probes)
    found: NDArray[np.uint64] = pc.search_sorted(keys, probes).to_numpy(zero_copy_only=False)
    return found.astype(np.int64)


def _search_by_sorting(keys: Keys, probes: Keys) -> NDArray[np.int64]:
    """Return the same as `_search`, for older releases of pyarrow: sorts both arrays, which takes up to five times as
    long.
    """
    both = pa.chunked_array([chunk for part in (probes, keys) for chunk in getattr(part, "chunks", [part])])
    # The sort is stable and the probes come first, so a probe is placed before the keys that equal it.
    order = pc.sort_indices(both).to_numpy()
    return np.flatnonzero(order < len(probes)) - np.arange(len(probes))
