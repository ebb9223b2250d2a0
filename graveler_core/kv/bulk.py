"""Functions for many keys of a store.

Each function checks the arguments against the limits and calls the method of the store with the same name. The stores
do not check them again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.errors import InvalidInput
from graveler_core.kv.limits import check_columns, check_key, check_partition, check_value
from graveler_core.kv.paging import interval
from graveler_core.kv.store import Expected, Item, Predicate, Store, Stored


def get_many(store: Store, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
    """Read several keys: in one round trip if the store supports it, otherwise in one round trip per key.

    Args:
        store: The store.
        keys: (partition, key) pairs.

    Returns:
        One result for each pair, in the same order. Each result includes every write that was acknowledged before the
        call. The results may be of different moments.

    Raises:
        InvalidInput: A partition or key is empty.
        LimitExceeded: A partition or key is too long.
    """
    for partition, key in keys:
        check_key(partition, key)
    return store.get_many(keys) if keys else []


def set_many(store: Store, items: Sequence[Item]) -> None:
    """Write several keys: in one round trip if the store supports it, otherwise one after another.

    The call is atomic only if `store.sets_atomically()` returns true. All items are checked before the first is
    written.

    Args:
        store: The store.
        items: (partition, key, value) triples. If several items have the same key, the last one wins.

    Raises:
        InvalidInput: A partition or key is empty.
        LimitExceeded: A partition, key or value is too long.
    """
    for partition, key, value in items:
        check_key(partition, key)
        check_value(key, value)
    if items:
        store.set_many(items)


def write_and_swap(store: Store, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
    """Write several keys and then, if its predicate holds, one more key: in one round trip if the store supports it.

    Args:
        store: The store.
        items: (partition, key, value) triples with distinct keys. After an error they may be written or not.
        swapped: Partition, key and new value of the last key. It is not one of the items.
        predicate: Predicate of the last key, as in `Store.set_if`.

    Returns:
        The predicate of the last key's new value.

    Raises:
        PredicateFailed: The predicate does not hold. The last key was not written.
        InvalidInput: A partition or key is empty.
        LimitExceeded: A partition, key or value is too long. Checked before anything is written.
    """
    for partition, key, value in (*items, swapped):
        check_key(partition, key)
        check_value(key, value)
    if items:
        return store.write_and_swap(items, swapped, predicate)
    partition, key, value = swapped
    return store.set_if(partition, key, value, predicate)


def delete_together(store: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
    """Delete keys in one atomic step and one round trip, if their predicates and those of other keys hold.

    Args:
        store: The store. A store that does not support this in one step raises `PredicateFailed`.
        rows: The keys to delete, distinct.
        unchanged: Keys that are not deleted, but whose predicates must hold too.

    Raises:
        PredicateFailed: A predicate does not hold, or the store does not support the call. Nothing was deleted.
        InvalidInput: A partition or key is empty.
        LimitExceeded: A partition or key is too long.
    """
    for partition, key, _ in (*rows, *unchanged):
        check_key(partition, key)
    if rows:
        store.delete_together(rows, unchanged)


def load(store: Store, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """Write two columns into a partition. This is not atomic.

    Args:
        store: The store.
        partition: The partition.
        keys: Distinct keys, in any order.
        values: The value of each key.

    Raises:
        InvalidInput: The lengths differ, a key or value is null, or a key is empty or repeated. Checked before anything
            is written.
        LimitExceeded: A key or value is too long. Checked before anything is written.
    """
    check_columns(partition, keys, values)
    store.load(partition, keys, values)


def scan_arrow(
    store: Store, partition: bytes, *, prefix: bytes = b"", start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.RecordBatch]:
    """Scan keys as columns. Like `Store.scan`, this reads page by page and is not a snapshot.

    Args:
        store: The store.
        partition: The partition.
        prefix: The prefix of all keys to read.
        start: The first key to read.
        end: The key before which the scan ends; `None` means the end of the partition.

    Returns:
        Batches (key: binary, value: binary) in key order, none of them empty.

    Raises:
        InvalidInput: The partition is empty.
        LimitExceeded: The partition is too long.
    """
    check_partition(partition)
    return store.scan_arrow(partition, interval(prefix, start, end))


def drop_partition(store: Store, partition: bytes) -> int:
    """Delete all rows of a partition, at most 5,000 per transaction.

    Use this only for partitions that are no longer read, because between two transactions other readers see some of the
    rows. Rows that are written during the call may remain.

    Args:
        store: The store.
        partition: The partition.

    Returns:
        The number of deleted rows.

    Raises:
        InvalidInput: The partition is empty.
        LimitExceeded: The partition is too long.
    """
    check_partition(partition)
    return store.drop_partition(partition)


def split_points(store: Store, partition: bytes, n: int) -> list[bytes]:
    """Find keys that split a partition into n key ranges of about equal row counts.

    Args:
        store: The store.
        partition: The partition.
        n: Number of key ranges.

    Returns:
        At most n - 1 ascending keys. A key range holds the keys from its split point (inclusive) to the next split
        point (exclusive). The first key range begins at the first key.

    Raises:
        InvalidInput: The partition is empty, or `n` is less than 1.
        LimitExceeded: The partition is too long.
    """
    check_partition(partition)
    if n < 1:
        raise InvalidInput(f"a partition cannot be split into {n} key ranges; at least 1 is needed")
    return [] if n == 1 else store.split_points(partition, n)


def about_rows(store: Store, partition: bytes) -> int:
    """Estimate the number of rows of a partition.

    Use the estimate only to decide how work is done; the result of the work must not depend on it. The store may read
    the whole partition.

    Args:
        store: The store.
        partition: The partition.

    Returns:
        The number of rows within a factor of two, if nothing is written during the call. It is 0 only for a partition
        without rows.

    Raises:
        InvalidInput: The partition is empty.
        LimitExceeded: The partition is too long.
    """
    check_partition(partition)
    return store.about_rows(partition)
