"""Binary search in the sorted `key` column of a table. Keys are compared as bytes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from graveler_core.errors import InvalidInput

KEY = "key"
_ONE_BY_ONE = 64
"""Keys that are searched one by one at most: that touches a few keys of a table, anything else all of them."""


def lower_bound(keys: pa.Array | pa.ChunkedArray, key: bytes, low: int = 0) -> int:
    """Position of the first key, from position `low` on, that is not less than `key`, in O(log n)."""
    high = len(keys)
    while low < high:
        middle = (low + high) // 2
        if keys[middle].as_py() < key:
            low = middle + 1
        else:
            high = middle
    return low


def upper_bound(keys: pa.Array | pa.ChunkedArray, key: bytes) -> int:
    """Position of the first key that is greater than `key`, in O(log n)."""
    return lower_bound(keys, key + b"\0")


def between(table: pa.Table, start: bytes = b"", end: bytes | None = None) -> pa.Table:
    """The rows with `start` ≤ key < `end` (None: no end), without copying."""
    keys = table.column(KEY)
    first = lower_bound(keys, start) if start else 0
    last = len(keys) if end is None else lower_bound(keys, end)
    if first == 0 and last == len(keys):
        return table
    return table.slice(first, max(0, last - first))


def prefix_end(prefix: bytes) -> bytes | None:
    """The least key greater than every key that begins with `prefix`; None where there is none."""
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes([stripped[-1] + 1]) if stripped else None


def key_series(table: pa.Table) -> pl.Series:
    """The key column for polars' kernels."""
    series = pl.from_arrow(table.column(KEY))
    assert isinstance(series, pl.Series)  # noqa: S101 - what polars gives for one column
    return series


def positions(keys: pl.Series, probes: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For each probe, where it stands or belongs in the sorted `keys`, and whether it is there."""
    if len(keys) == 0 or len(probes) == 0:
        return np.zeros(len(probes), np.int64), np.zeros(len(probes), np.bool_)
    at: NDArray[np.int64] = np.asarray(keys.search_sorted(probes, side="left").to_numpy(), dtype=np.int64)
    found: NDArray[Any] = (keys[np.minimum(at, len(keys) - 1)] == probes).to_numpy()
    return at, found & (at < len(keys))


def found_at(keys: pa.Array, probes: Sequence[bytes]) -> NDArray[np.int64]:
    """Where those of the sorted `probes` stand in the sorted `keys` that are there."""
    if len(probes) > _ONE_BY_ONE:
        series = pl.from_arrow(keys)
        assert isinstance(series, pl.Series)  # noqa: S101 - what polars gives for one column
        at, there = positions(series, pl.Series(probes, dtype=pl.Binary))
        return at[there]
    low, found = 0, list[int]()
    for probe in probes:
        low = lower_bound(keys, probe, low)
        if low < len(keys) and keys[low].as_py() == probe:
            found.append(low)
    return np.array(found, np.int64)


def require_increasing(table: pa.Table) -> None:
    """`InvalidInput` unless each key is greater than the one before it."""
    keys = table.column(KEY)
    if len(keys) > 1 and not pc.all(pc.less(keys[:-1], keys[1:])).as_py():
        raise InvalidInput("keys must be sorted as bytes, each at most once")
