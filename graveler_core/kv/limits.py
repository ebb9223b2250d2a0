"""Size limits of partitions, keys and values, which are the same for all stores, and the functions that check them.

The limits are low enough for databases that plug-ins may use: DynamoDB has 1,024 bytes per key and 400 KB per row,
FoundationDB 100 KB per value, PostgreSQL 2,704 bytes per index row.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import InvalidInput, LimitExceeded

MAX_PARTITION: Final = 512
"""Maximum size of a partition name in bytes."""
MAX_KEY: Final = 1_024
"""Maximum size of a key in bytes."""
MAX_VALUE: Final = 96 * 1_024
"""Maximum size of a value in bytes."""


def check_partition(partition: bytes) -> None:
    """Check the size of a partition name.

    Args:
        partition: The partition name.

    Raises:
        InvalidInput: The partition is empty.
        LimitExceeded: The partition has more than 512 bytes.
    """
    size = len(partition)
    if size > MAX_PARTITION:
        raise _exceeded("partition", size, MAX_PARTITION, partition)
    if not size:
        raise InvalidInput("a partition is empty; it must have 1 to 512 bytes")


def check_key(partition: bytes, key: bytes) -> None:
    """Check the sizes of a partition name and a key.

    Args:
        partition: The partition name.
        key: The key.

    Raises:
        InvalidInput: The partition or the key is empty.
        LimitExceeded: The partition or the key is too long.
    """
    if not 0 < len(partition) <= MAX_PARTITION:
        check_partition(partition)
    size = len(key)
    if size > MAX_KEY:
        raise _exceeded("key", size, MAX_KEY, key)
    if not size:
        raise InvalidInput("a key is empty; it must have 1 to 1,024 bytes")


def check_value(key: bytes, value: bytes) -> None:
    """Check the size of a value. Empty values are valid.

    Args:
        key: The key, which the error names.
        value: The value.

    Raises:
        LimitExceeded: The value has more than 96 KiB.
    """
    if len(value) > MAX_VALUE:
        raise LimitExceeded(
            f"the value of key {key[:80]!r} has {len(value):,} bytes; at most {MAX_VALUE:,} are accepted",
            size=len(value),
            limit=MAX_VALUE,
        )


def check_columns(partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """Check the columns of a bulk load, without a Python loop over the rows.

    Raises:
        InvalidInput: The lengths differ, a key or value is null, or a key is empty or repeated.
        LimitExceeded: A key or value is too long.
    """
    check_partition(partition)
    if len(keys) != len(values) or keys.null_count or values.null_count:
        raise InvalidInput(f"{len(keys)} keys and {len(values)} values; the counts must be equal, and none may be null")
    if not len(keys):
        return
    lengths = pc.min_max(pc.binary_length(keys)).as_py()
    largest = pc.max(pc.binary_length(values)).as_py()
    if lengths["min"] == 0:
        raise InvalidInput("a key is empty; it must have 1 to 1,024 bytes")
    if lengths["max"] > MAX_KEY:
        raise _exceeded("key", lengths["max"], MAX_KEY, b"")
    if largest > MAX_VALUE:
        raise _exceeded("value", largest, MAX_VALUE, b"")
    if pc.count_distinct(keys).as_py() != len(keys):
        raise InvalidInput("a key occurs twice in one bulk load; keys must be distinct")


def _exceeded(what: str, size: int, limit: int, shown: bytes) -> LimitExceeded:
    name = f" {shown[:80]!r}…" if shown else ""
    return LimitExceeded(f"the {what}{name} has {size:,} bytes; at most {limit:,} are accepted", size=size, limit=limit)
