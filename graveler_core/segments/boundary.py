"""Boundaries of ranges in sorted entries: a pure function of the set of entries, independent of history.

Source: the storage model, "Segments, ranges, metaranges" (content-defined chunking on the hash of keys alone; Dolt's
prolly trees also cut by key hash). A key whose hash is less than the threshold closes a *primary* interval. An
interval with more logical bytes than allowed is cut again, with a repeatedly doubled threshold, and finally by
entries. A change therefore moves boundaries only within its own primary interval, and equal entries result in equal
ranges on every machine.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import xxhash
from numpy.typing import NDArray

from graveler_core.errors import InvalidInput
from graveler_core.segments.sorted_keys import KEY

HASH_VALUES = 1 << 64
FIXED_ROW_BYTES = 67
"""Bytes that an entry counts in addition to its texts: identity 32, address type 1, size 8, mtime 8, payload 2, content
id 16.
"""
_VARIABLE = (KEY, "address", "checksum", "content_type", "data")


@dataclass(frozen=True, slots=True)
class Cutting:
    """Sizes of ranges and nodes. Part of format version 1: other values result in other ids for equal entries."""

    mean_entries: int = 16_384
    """Mean number of entries in a primary interval. The largest of many intervals is 5 to 9 times the mean."""
    max_bytes: int = 32 << 20
    """Maximum number of logical bytes (`logical_bytes`) in a range, unless a single entry is larger."""
    fan_out: int = 64
    """Mean number of rows in a tree node."""

    def __post_init__(self) -> None:
        if self.mean_entries < 1 or self.max_bytes < 1 or self.fan_out < 2:
            raise InvalidInput(f"{self}: must have at least 1 entry, 1 byte and a fan-out of 2")

    def threshold(self, level: int = 0) -> int:
        """Return the hash threshold of a level. Keys with smaller hashes close a range (level 0) or a node of level - 1
        (levels above).
        """
        return int(HASH_VALUES // self.mean_entries // self.fan_out**level)


def key_hash(key: bytes, seed: int) -> int:
    """Return the 64-bit hash of a key that decides on boundaries: xxh3 with the repository's seed."""
    return xxhash.xxh3_64_intdigest(key, seed)


def key_hashes(keys: pa.Array | pa.ChunkedArray, seed: int) -> NDArray[np.uint64]:
    """Return the `key_hash` of each key. A million keys take about 0.1 s: one C call for each key, without Python code
    between.
    """
    return np.fromiter(map(xxhash.xxh3_64_intdigest, keys.to_pylist(), repeat(seed)), dtype=np.uint64, count=len(keys))


def under(hashes: NDArray[np.uint64], threshold: int) -> NDArray[np.bool_]:
    """Return a mask of the hashes that are less than a threshold between 0 and 2⁶⁴, both included."""
    if threshold <= 0:
        return np.zeros(len(hashes), np.bool_)
    return hashes <= np.uint64(min(threshold, HASH_VALUES) - 1)


def logical_bytes(entries: pa.Table) -> NDArray[np.int64]:
    """Return the size of each entry for boundaries, in bytes: its texts and data, the texts of its metadata, and a
    fixed number.
    """
    total: NDArray[np.int64] = np.full(entries.num_rows, FIXED_ROW_BYTES, np.int64)
    for name in _VARIABLE:
        total += _lengths(entries.column(name))
    row = 0
    for maps in entries.column("metadata").chunks:
        total[row : row + len(maps)] += _map_lengths(maps)
        row += len(maps)
    return total


def primary_ends(keys: pa.Array | pa.ChunkedArray, seed: int, cutting: Cutting) -> NDArray[np.int64]:
    """Return the ends (exclusive positions) of the primary intervals that a key closes. The last may end before the
    table.
    """
    return np.flatnonzero(under(key_hashes(keys, seed), cutting.threshold())) + 1


def cut(entries: pa.Table, seed: int, cutting: Cutting, primary: NDArray[np.int64] | None = None) -> list[int]:
    """Return the ends of the ranges of sorted entries: ascending exclusive positions; the last is the number of rows.

    Args:
        entries: Entries sorted by key, from the start of a primary interval to the end of an interval or of the set.
        seed: Boundary seed of the repository.
        cutting: Sizes of ranges.
        primary: `primary_ends`, if the caller knows them without hashing every key.
    """
    rows = entries.num_rows
    if rows == 0:
        return []
    if primary is None:
        primary = primary_ends(entries.column(KEY), seed, cutting)
    ends = primary if len(primary) and primary[-1] == rows else np.append(primary, rows)
    starts = np.concatenate(([0], ends[:-1]))
    before = bytes_before(entries)
    large = before[ends] - before[starts] > cutting.max_bytes
    if not large.any():
        return [int(end) for end in ends]
    result: list[int] = []
    keys = entries.column(KEY)
    for start, end, oversize in zip(starts.tolist(), ends.tolist(), large.tolist(), strict=True):
        if oversize:
            inner, _ = cut_oversize(keys.slice(start, end - start), before[start : end + 1], seed, cutting)
            result += [start + e for e in inner]
        else:
            result.append(end)
    return result


def bytes_before(entries: pa.Table) -> NDArray[np.int64]:
    """Return the number of logical bytes before each entry, and of all entries."""
    before: NDArray[np.int64] = np.concatenate(([0], np.cumsum(logical_bytes(entries))))
    return before


def cut_oversize(  # noqa: PLR0913 - the interval, the sizes, and the position in a larger interval
    keys: pa.Array | pa.ChunkedArray,
    before: NDArray[np.int64],
    seed: int,
    cutting: Cutting,
    level: int = 0,
    *,
    closed: bool = True,
) -> tuple[list[int], int]:
    """Divide a primary interval into ranges. It is divided by doubled thresholds, so that most ends survive a change,
    and finally by entries.

    An interval of any size can be divided step by step. The entries of the first call begin the interval, and those of
    each further call begin after the last end of the previous one.

    Args:
        keys: Keys of the entries.
        before: `bytes_before` of the entries, up to a constant.
        seed: Boundary seed of the repository.
        cutting: Sizes of ranges.
        level: 0 for the first call, and then the level that the previous call returned.
        closed: `True` if the interval ends with these entries.

    Returns:
        The ends of the ranges, and a level. If the interval goes on, only the ends that do not depend on what follows.
        A level is a number of doublings: a key closes the next range if its hash is less than the threshold of the
        level, as every larger interval around it is too large.
    """
    hashes, ends, start = key_hashes(keys, seed), list[int](), 0
    while start < len(keys):
        threshold = cutting.threshold() << level
        end = _end_by_bytes(before, start, cutting.max_bytes)
        closing = np.flatnonzero(under(hashes[start:end], threshold))
        if len(closing):
            end = start + int(closing[0]) + 1
            level = _level_of(hashes[end - 1], cutting)
        elif end == len(keys):
            if not closed:
                break
        elif 2 * threshold < HASH_VALUES:
            level += 1
            continue
        ends.append(end)
        start = end
    return ends, level


def _level_of(hashed: np.uint64, cutting: Cutting) -> int:
    """Return the smallest level whose threshold is greater than a hash."""
    level = 0
    while int(hashed) >= cutting.threshold() << level:
        level += 1
    return level


def _end_by_bytes(before: NDArray[np.int64], start: int, max_bytes: int) -> int:
    """Return the end of the largest range within the maximum. A larger single entry has a range of its own."""
    return max(start + 1, int(np.searchsorted(before, before[start] + max_bytes, side="right")) - 1)


def _lengths(column: pa.ChunkedArray) -> NDArray[np.int64]:
    if column.null_count == len(column):
        return np.zeros(len(column), np.int64)
    lengths: NDArray[Any] = pc.binary_length(column).fill_null(0).to_numpy()
    return lengths.astype(np.int64)


def _map_lengths(maps: pa.MapArray) -> NDArray[np.int64]:
    """Return the number of bytes in the keys and items of each map. Null counts as empty."""
    offsets = np.asarray(maps.offsets.to_numpy(zero_copy_only=False), dtype=np.int64)
    if offsets[-1] == offsets[0]:
        return np.zeros(len(maps), np.int64)
    texts = [pc.binary_length(part).fill_null(0).to_numpy(zero_copy_only=False) for part in (maps.keys, maps.items)]
    before = np.concatenate(([0], np.cumsum(texts[0].astype(np.int64) + texts[1])))
    sizes: NDArray[np.int64] = np.diff(before[offsets])
    return np.where(maps.is_valid().to_numpy(zero_copy_only=False), sizes, 0)
