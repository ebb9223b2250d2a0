"""Abilities of stores, on any store: its own where it has it, else a correct fallback, written once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from itertools import islice
from typing import Any

import pyarrow as pa

from graveler_core.errors import InvalidInput
from graveler_core.kv.abilities import (
    CountsRows,
    DeletesTogether,
    Describes,
    Description,
    DropsPartitions,
    Expected,
    GetsMany,
    Item,
    Loads,
    ScansArrow,
    SetsMany,
    SplitsPartitions,
    TakesTurns,
)
from graveler_core.kv.columns import batch_of_rows
from graveler_core.kv.limits import check_columns, check_key, check_partition, check_value
from graveler_core.kv.paging import CHUNK_ROWS, PAGE_BYTES, PAGE_ROWS, interval, split_rows
from graveler_core.kv.store import KeyValue, Store, Stored, predicate_failed


def get_many(store: Store, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
    """One answer for each (partition, key), in their order: one round trip where the store can, else one each.

    Each answer observes every write acknowledged before the call. The answers need not be of one instant.
    """
    for partition, key in keys:
        check_key(partition, key)
    if not keys:
        return []
    able: GetsMany | None = _able(store, GetsMany)
    if able is not None:
        return able.get_many(keys)
    return [store.get(partition, key) for partition, key in keys]


def set_many(store: Store, items: Sequence[Item]) -> None:
    """Plain sets of (partition, key, value): one round trip where the store can, else one each, in order.

    The last item of a key wins. All or nothing only where `sets_atomically(store)`.
    """
    for partition, key, value in items:
        check_key(partition, key)
        check_value(key, value)
    if not items:
        return
    able: SetsMany | None = _able(store, SetsMany)
    if able is not None:
        able.set_many(items)
        return
    for partition, key, value in items:
        store.set(partition, key, value)


def sets_atomically(store: Store) -> bool:
    """Whether a failed `set_many` on this store has written nothing."""
    return isinstance(store, SetsMany) and store.sets_atomically()


def delete_together(store: Store, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
    """Removes distinct keys if their predicates hold, and those of other keys too: one atomic step, one round trip.

    A store that cannot do it in one step does not do it: nothing else says the same.

    Raises:
        PredicateFailed: One of them does not hold, or the store cannot tell; nothing was removed.
    """
    for partition, key, _ in (*rows, *unchanged):
        check_key(partition, key)
    if not rows:
        return
    if not isinstance(store, DeletesTogether):
        raise predicate_failed(*rows[0])
    store.delete_together(rows, unchanged)


def deletes_together(store: Store) -> bool:
    """Whether `delete_together` can succeed on this store."""
    able: DeletesTogether | None = _able(store, DeletesTogether)
    return able is not None and able.deletes_together()


def turn(store: Store, name: str, patience: float) -> AbstractContextManager[None]:
    """The turn under a name among the processes that share the store; at once where the store has no turns.

    Waits `patience` seconds at most, then goes on without it: nothing may rest on it.
    """
    able: TakesTurns | None = _able(store, TakesTurns)
    return nullcontext() if able is None else able.turn(name, patience)


def load(store: Store, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """Writes two columns into a partition: plain sets of distinct keys, in any order, not atomic.

    Raises:
        InvalidInput: Lengths differ, a null, an empty or repeated key. Checked before anything is written.
        LimitExceeded: A key or value is too long. Checked before anything is written.
    """
    check_columns(partition, keys, values)
    if isinstance(store, Loads):
        store.load(partition, keys, values)
        return
    load_in_chunks(store, partition, keys, values)


def scan_arrow(
    store: Store, partition: bytes, *, prefix: bytes = b"", start: bytes = b"", end: bytes | None = None
) -> Iterator[pa.RecordBatch]:
    """A scan as columns (key: binary, value: binary), in key order; no empty batches, no snapshot, as `Store.scan`."""
    check_partition(partition)
    keys = interval(prefix, start, end)
    able: ScansArrow | None = _able(store, ScansArrow)
    if able is not None:
        return able.scan_arrow(partition, keys)
    return batches(store.scan(partition, prefix=prefix, start=start, end=end))


def drop_partition(store: Store, partition: bytes) -> int:
    """Removes all rows of a partition, at most 5,000 a transaction, and returns how many.

    Rows that are written meanwhile may stay. Only for partitions that nobody reads any more: between transactions
    others see a part of them.
    """
    check_partition(partition)
    able: DropsPartitions | None = _able(store, DropsPartitions)
    if able is not None:
        return able.drop_partition(partition)
    return drop_one_by_one(store, partition)


def split_points(store: Store, partition: bytes, n: int) -> list[bytes]:
    """At most n - 1 ascending keys that cut a partition into n pieces of about equal row counts.

    A piece holds the keys from its point (inclusive) to the next (exclusive); the first begins at the beginning.
    """
    check_partition(partition)
    if n < 1:
        raise InvalidInput(f"a partition cannot be split into {n} pieces; at least 1 is needed")
    if n == 1:
        return []
    if isinstance(store, SplitsPartitions):
        return store.split_points(partition, n)
    return split_by_scan(scan_arrow(store, partition), n)


def about_rows(store: Store, partition: bytes) -> int:
    """About how many rows a partition holds: within a factor of two while nobody writes, 0 only where there are none.

    To decide how work is done, never what comes of it. All of the partition may be read, but nothing is handed over
    where the store can do without.
    """
    check_partition(partition)
    able: CountsRows | None = _able(store, CountsRows)
    if able is not None:
        return able.about_rows(partition)
    return count_by_scan(scan_arrow(store, partition))


def describe(store: Store) -> Description:
    """What a store tells of itself; its class where it tells nothing."""
    able: Describes | None = _able(store, Describes)
    return {"backend": type(store).__name__} if able is None else able.describe()


def load_in_chunks(store: Store, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
    """The fallback of `load`."""
    for offset in range(0, len(keys), CHUNK_ROWS):
        piece = slice(offset, offset + CHUNK_ROWS)
        chunk = zip(keys[piece].to_pylist(), values[piece].to_pylist(), strict=True)
        set_many(store, [(partition, key, value) for key, value in chunk])


def drop_one_by_one(store: Store, partition: bytes) -> int:
    """The fallback of `drop_partition`."""
    removed = 0
    for row in store.scan(partition):
        store.delete(partition, row.key)
        removed += 1
    return removed


def split_by_scan(rows: Iterator[pa.RecordBatch], pieces: int) -> list[bytes]:
    """The fallback of `split_points`: reads all keys of `rows` (key, value) and takes those that begin a piece."""
    keys = pa.chunked_array([batch.column("key") for batch in rows], pa.binary())
    return [keys[row].as_py() for row in split_rows(len(keys), pieces)]


def count_by_scan(rows: Iterator[pa.RecordBatch]) -> int:
    """The fallback of `about_rows`: reads all rows."""
    return sum(batch.num_rows for batch in rows)


def batches(rows: Iterator[KeyValue]) -> Iterator[pa.RecordBatch]:
    """The fallback of `scan_arrow`: rows of a scan, gathered into pages."""
    while page := list(_one_page(rows)):
        yield batch_of_rows(page)


def _able(store: Store, ability: Any) -> Any:
    """The store if it has an ability, else None."""
    return store if _has(type(store), ability) else None


@cache
def _has(kind: type, ability: type) -> bool:
    """Asked once for each class of stores: to ask a protocol takes longer than to read a row."""
    return issubclass(kind, ability)


def _one_page(rows: Iterator[KeyValue]) -> Iterator[tuple[bytes, bytes]]:
    size = 0
    for row in islice(rows, PAGE_ROWS):
        yield row.key, row.value
        size += len(row.value)
        if size >= PAGE_BYTES:
            return
