"""Generated entries with keys like those of a partitioned table and random checksums, made as Arrow columns."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.model.entry import Entry

_PARTITION_FILES = 4_096


def entries(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], seed: int = 0) -> pa.Table:
    """Return one entry per number as a table for `stage_many`. Keys have 53 bytes; checksums have 16 random bytes.

    Args:
        numbers: Numbers of the entries. A number determines the key, and keys sort like their numbers.
        seed: Seed of the content. Different seeds give the same keys different content.
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
    """Return the entries of the numbers 0 to `count` - 1."""
    return entries(np.arange(count), seed)


def spread(size: int, count: int, seed: int) -> pa.Table:
    """Return new content for `count` of the first `size` entries, evenly spread. `count` is at most half of `size`.

    An even seed changes entries with even numbers, an odd seed entries with odd numbers.
    """
    step = max(2, size // count & ~1)
    return entries(np.arange(seed % 2, size, step)[:count], seed)


def nested(count: int) -> pa.Table:
    """Return entries like `first`, in directories of three levels: 10, 100 and 100 directories of equal size."""
    numbers = np.arange(count)
    parts = [numbers * 10 // count, numbers * 1_000 // count % 100, numbers * 100_000 // count % 100, numbers]
    names = [_padded(part, width) for part, width in zip(parts, (1, 2, 2, 9), strict=True)]
    table = first(count)
    return table.set_column(0, "key", pc.binary_join_element_wise(*names, "/"))


def keys(numbers: np.ndarray[tuple[int], np.dtype[np.int64]]) -> pa.Array:
    """Return the keys of several numbers."""
    days, files = numbers // _PARTITION_FILES, numbers % _PARTITION_FILES
    parts = "warehouse/events/day=", _padded(days, 6), "/part-", _padded(files, 8), ".zstd.parquet", ""
    return pc.binary_join_element_wise(*parts)


def key(number: int) -> str:
    """Return the key of a number."""
    found: str = keys(np.array([number]))[0].as_py()
    return found


def one(number: int, seed: int) -> Entry:
    """Return an entry for a call of `stage`."""
    checksum = f"{seed * 1_000_003 + number:032x}"
    return Entry(address=f"data/{checksum}", size=number, checksum=checksum)


def _padded(numbers: np.ndarray[tuple[int], np.dtype[np.int64]], width: int) -> pa.Array:
    return pc.utf8_lpad(pc.cast(pa.array(numbers), pa.string()), width, "0")


def _random_hex(count: int, seed: int) -> pa.Array:
    digits = np.frombuffer(np.random.default_rng(seed).bytes(16 * count).hex().encode(), np.uint8)
    offsets = np.arange(0, 32 * count + 1, 32, dtype=np.int32)
    return pa.Array.from_buffers(pa.string(), count, [None, pa.py_buffer(offsets), pa.py_buffer(digits)])
