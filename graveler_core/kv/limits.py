"""The sizes that every store accepts and none exceeds, and the checks that backends make before they write.

Taken so that each database a plug-in may use can hold them: DynamoDB 1,024 bytes a key and 400 KB a row, FoundationDB
100 KB a value, PostgreSQL 2,704 bytes an index row.
"""

from __future__ import annotations

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from graveler_core.errors import InvalidInput, LimitExceeded

MAX_PARTITION: Final = 512
"""Bytes."""
MAX_KEY: Final = 1_024
"""Bytes."""
MAX_VALUE: Final = 96 * 1_024
"""Bytes."""


def check_partition(partition: bytes) -> None:
    """Raises InvalidInput for an empty partition, LimitExceeded for one of more than 512 bytes."""
    size = len(partition)
    if size > MAX_PARTITION:
        raise _exceeded("partition", size, MAX_PARTITION, partition)
    if not size:
        raise InvalidInput("a partition is empty; it must have 1 to 512 bytes")


def check_key(partition: bytes, key: bytes) -> None:
    """Raises InvalidInput for an empty partition or key, LimitExceeded for one that is too long."""
    if not 0 < len(partition) <= MAX_PARTITION:
        check_partition(partition)
    size = len(key)
    if size > MAX_KEY:
        raise _exceeded("key", size, MAX_KEY, key)
    if not size:
        raise InvalidInput("a key is empty; it must have 1 to 1,024 bytes")


def check_value(key: bytes, value: bytes) -> None:
    """Raises LimitExceeded for a value of more than 96 KiB; an empty value is a value."""
    if len(value) > MAX_VALUE:
        raise LimitExceeded(
            f"the value of key {key[:80]!r} has {len(value):,} bytes; at most {MAX_VALUE:,} are accepted",
            size=len(value),
            limit=MAX_VALUE,
        )


def check_columns(partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """Checks two columns of a bulk load at once, without a loop over their rows.

    Raises:
        InvalidInput: Different lengths, nulls, an empty key, or a key that stands twice.
        LimitExceeded: A key or value is too long.
    """
    check_partition(partition)
    if len(keys) != len(values) or keys.null_count or values.null_count:
        raise InvalidInput(f"{len(keys)} keys and {len(values)} values; as many of each are needed, none of them null")
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
        raise InvalidInput("a key stands twice in one bulk load; keys must be distinct")


def _exceeded(what: str, size: int, limit: int, shown: bytes) -> LimitExceeded:
    name = f" {shown[:80]!r}…" if shown else ""
    return LimitExceeded(f"the {what}{name} has {size:,} bytes; at most {limit:,} are accepted", size=size, limit=limit)
