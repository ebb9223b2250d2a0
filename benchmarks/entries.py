"""Entries to measure with: keys like those of a partitioned table, random checksums, everything made as columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.model.entry import Entry

_PARTITION_FILES = 4_096


def entries(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int = 0) -> pa.Table:
    """The entries of some numbers, for `stage_many`: 53-byte keys in the numbers' order, 16 random bytes of content.

    Args:
        numbers: One entry each; the same number has the same key.
        seed: Another seed gives the same keys other content.
    """
    checksums = _random_hex(len(numbers), seed)
    return pa.table(
        {
            "key": keys(numbers),
            "address": pc.binary_join_element_wise("data/", checksums, ""),
            "size": pa.array(1_000_000 + numbers % 999_983),
            "checksum": checksums,
            "mtime": pa.array(1_700_000_000_000_000 + numbers, pa.timestamp("us", tz="UTC")),
            "content_type": pa.repeat("application/vnd.apache.parquet", len(numbers)),
        }
    )


def first(count: int, seed: int = 0) -> pa.Table:
    """The entries of the first numbers."""
    return entries(np.arange(count), seed)


def spread(size: int, count: int, seed: int) -> pa.Table:
    """Changed content for `count` of the first `size` entries (at most half), evenly spread.

    An even seed changes entries of even numbers only, an odd one the others.
    """
    step = max(2, size // count & ~1)
    return entries(np.arange(seed % 2, size, step)[:count], seed)


def nested(count: int) -> pa.Table:
    """As `first`, under other keys: 10 directories of 100 directories of 100 directories, of equally many entries."""
    numbers = np.arange(count)
    parts = [numbers * 10 // count, numbers * 1_000 // count % 100, numbers * 100_000 // count % 100, numbers]
    names = [_padded(part, width) for part, width in zip(parts, (1, 2, 2, 9), strict=True)]
    table = first(count)
    return table.set_column(0, "key", pc.binary_join_element_wise(*names, "/"))


def keys(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """The keys of some numbers."""
    days, files = numbers // _PARTITION_FILES, numbers % _PARTITION_FILES
    parts = "warehouse/events/day=", _padded(days, 6), "/part-", _padded(files, 8), ".zstd.parquet", ""
    return pc.binary_join_element_wise(*parts)


def key(number: int) -> str:
    """The key of a number."""
    found: str = keys(np.array([number]))[0].as_py()
    return found


def one(number: int, seed: int) -> Entry:
    """An entry as a caller of `stage` makes it."""
    checksum = f"{seed * 1_000_003 + number:032x}"
    return Entry(address=f"data/{checksum}", size=number, checksum=checksum)


def _padded(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], width: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")


def _random_hex(count: int, seed: int) -> pa.Array:
    digits = np.frombuffer(np.random.default_rng(seed).bytes(16 * count).hex().encode(), np.uint8)
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(digits)])
