"""Interface of key-value stores: small values under (partition, key), with compare-and-swap.

Partitions, keys and values are bytes.

All mutable data of graveler is in such a store: records, staged entries, counters. The meaning of keys and values is
defined by the layers above (`graveler_core.records`). Backends are in `graveler_core.kv.backends`.

A backend implements the seven abstract methods. The other methods have correct defaults that use only these seven. A
backend overrides those that its database supports faster, in one round trip, or atomically. Callers use the functions
of `graveler_core.kv.bulk` for many keys, because they check the arguments first.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Final, final

import pyarrow as pa

from graveler_core.errors import PredicateFailed
from graveler_core.kv.columns import batches_of_rows
from graveler_core.kv.paging import CHUNK_ROWS, KeyBounds, split_rows


@final
@dataclass(frozen=True, slots=True)
class Predicate:
    """Condition of a compare-and-swap on the current value. It is opaque: stores create it and callers pass it back.

    The stores of this library use the *value* that was read as the token, not a version. This needs no version column,
    every database can compare values, and records are small, so sending a value back adds no measurable cost. The
    disadvantage is that a record that changed from A to B and back to A satisfies a predicate on A. Records for which
    this matters contain a nonce. A nonce is needed anyway for stores whose versions start again when a key is deleted
    and created again. A plug-in can use a version or an ETag as the token.
    """

    token: bytes | None


EXISTS: Final = Predicate(None)
"""Predicate that holds if the key exists, regardless of its value."""


@final
@dataclass(frozen=True, slots=True)
class Stored:
    """A value that was read, and the predicate that holds while the value is unchanged."""

    value: bytes
    predicate: Predicate


@final
@dataclass(frozen=True, slots=True)
class KeyValue:
    """One row of a scan."""

    key: bytes
    value: bytes
    predicate: Predicate


Item = tuple[bytes, bytes, bytes]
"""Partition, key, value."""
Expected = tuple[bytes, bytes, Predicate]
"""Partition, key, and the predicate that must hold."""
Description = dict[str, str | int | float | bool | None]
"""Properties of a store for diagnostics, by name. They contain no secrets."""


class Store(ABC):
    """A key-value store. It can be used by several threads at once.

    * Order: the keys of a partition are ordered as unsigned bytes. Partitions have no order and cannot be listed.
    * Atomicity: `get`, `set`, `set_if`, `delete` and `delete_if` are atomic and linearizable. A write is durable when
      the method returns. The documentation of the other methods says whether they are atomic.
    * Limits (`graveler_core.kv.limits`) apply to every method. A larger size raises `LimitExceeded`, and an empty
      partition or key raises `InvalidInput`. Empty values are valid.
    * Errors of all methods: `SlowDown` (nothing changed, repeat later), `Unavailable` (the store cannot be reached or
      written), `PermissionDenied` (the store denies access), and `CorruptData`. Writes can also raise `OutcomeUnknown`
      (the write may have happened). A write of several rows that is not atomic may have written some of them before
      any error.
    """

    @abstractmethod
    def get(self, partition: bytes, key: bytes) -> Stored | None:
        """Return the value of a key and its predicate, or `None` if the key is absent.

        The result includes every write that was acknowledged before the call, even while scans are open.

        Args:
            partition: The partition.
            key: The key.

        Returns:
            The value and its predicate, or `None`.
        """

    @abstractmethod
    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        """Write the value unconditionally.

        Args:
            partition: The partition.
            key: The key.
            value: The new value.
        """

    @abstractmethod
    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        """Write the value in one atomic step if the predicate holds.

        Args:
            partition: The partition.
            key: The key.
            value: The new value.
            predicate: `None` requires that the key is absent, `EXISTS` that it is present, and any other predicate that
                the value is unchanged since it was read.

        Returns:
            The predicate of the new value.

        Raises:
            PredicateFailed: The predicate does not hold. Nothing was written.
        """

    @abstractmethod
    def delete(self, partition: bytes, key: bytes) -> None:
        """Delete the key. An absent key is not an error.

        Use this only for keys that are never created again, because a delayed deletion would delete the new value.

        Args:
            partition: The partition.
            key: The key.
        """

    @abstractmethod
    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        """Delete the key in one atomic step if the predicate holds. No predicate holds for an absent key.

        Args:
            partition: The partition.
            key: The key.
            predicate: The predicate that was read with the value, or `EXISTS`.

        Raises:
            PredicateFailed: The predicate does not hold. Nothing was deleted.
        """

    @abstractmethod
    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        """Yield the rows of a key range in byte order.

        The scan is lazy and not a snapshot: it reads pages of at most 10,000 rows or 4 MiB, without a transaction
        between pages. A key that is present during the whole scan is yielded exactly once, with a value that it had
        during the scan. A key that is created or deleted during the scan is yielded once or not at all.

        Args:
            partition: The partition.
            prefix: Prefix of all keys.
            start: First key. It is a full key, including the prefix.
            end: Key after the last one, also a full key, or `None` for all keys from `start` on.
            limit: Maximum number of rows, or `None` for all of them.

        Yields:
            Keys with their values.
        """

    @abstractmethod
    def close(self) -> None:
        """Close connections and files. It can be called again; any other call afterwards raises `Unavailable`."""

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        """Read several keys of any partitions.

        Args:
            keys: (partition, key) pairs, at least one.

        Returns:
            One result for each pair, in the same order: from one snapshot, or each like the result of `get`.
        """
        return [self.get(partition, key) for partition, key in keys]

    def set_many(self, items: Sequence[Item]) -> None:
        """Write several keys of any partitions. If several items have the same key, the last one wins.

        Args:
            items: (partition, key, value) triples, at least one.
        """
        for partition, key, value in items:
            self.set(partition, key, value)

    def sets_atomically(self) -> bool:
        """Return true if `set_many` is atomic. If it is not, a failed call may have written some of the items."""
        return False

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        """Write several keys and then, if its predicate holds, one more key.

        A reader that sees the new value of the last key also sees the others. A store that supports it does all in one
        atomic step and one round trip. The default is `set_many` and then `set_if`. If `set_many` is not atomic, items
        in the partition of the last key may refer to items in other partitions, so these are written first.

        Args:
            items: (partition, key, value) triples with distinct keys, at least one. After an error they may be written
                or not, so they must have no effect until the last key names them.
            swapped: Partition, key and new value of the last key. It is not one of the items.
            predicate: Predicate of the last key, as in `set_if`.

        Returns:
            The predicate of the last key's new value.

        Raises:
            PredicateFailed: The predicate does not hold. The last key was not written.
        """
        partition, key, value = swapped
        before = [] if self.sets_atomically() else [item for item in items if item[0] != partition]
        if before:
            self.set_many(before)
            items = [item for item in items if item[0] == partition]
        if items:
            self.set_many(items)
        return self.set_if(partition, key, value, predicate)

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        """Delete keys in one atomic step, if their predicates and those of other keys hold.

        A store that does not support this in one step must refuse, because separate steps do not give the same
        guarantee. The default refuses.

        Args:
            rows: The keys to delete, distinct, at least one.
            unchanged: Keys that are not deleted, but whose predicates must hold too.

        Raises:
            PredicateFailed: A predicate does not hold, or the store does not support the call. Nothing was deleted.
        """
        del unchanged
        raise predicate_failed(*rows[0])

    def deletes_together(self) -> bool:
        """Return true if this store supports `delete_together`."""
        return False

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        """Write two columns into a partition, at most 5,000 rows per transaction. This is not atomic.

        Args:
            partition: The partition.
            keys: Distinct keys, in any order.
            values: The value of each key.
        """
        for offset in range(0, len(keys), CHUNK_ROWS):
            chunk = slice(offset, offset + CHUNK_ROWS)
            rows = zip(keys[chunk].to_pylist(), values[chunk].to_pylist(), strict=True)
            self.set_many([(partition, key, value) for key, value in rows])

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        """Scan a key range as columns. Like `scan`, this reads page by page and is not a snapshot.

        Args:
            partition: The partition.
            keys: The key range.

        Returns:
            Batches (key: binary, value: binary) in key order, none of them empty.
        """
        rows = self.scan(partition, start=keys.lower, end=keys.upper)
        return batches_of_rows((row.key, row.value) for row in rows)

    def drop_partition(self, partition: bytes) -> int:
        """Delete all rows of a partition, at most 5,000 per transaction.

        Args:
            partition: The partition.

        Returns:
            The number of deleted rows.
        """
        removed = 0
        for row in self.scan(partition):
            self.delete(partition, row.key)
            removed += 1
        return removed

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        """Find keys that split a partition into key ranges of about equal row counts. The default reads all keys.

        Args:
            partition: The partition.
            pieces: Number of key ranges, 2 or more.

        Returns:
            At most `pieces` - 1 ascending keys. Each is the first key of a key range.
        """
        columns = [batch.column("key") for batch in self.scan_arrow(partition, KeyBounds(b"", None))]
        keys = pa.chunked_array(columns, pa.binary())
        return [keys[row].as_py() for row in split_rows(len(keys), pieces)]

    def about_rows(self, partition: bytes) -> int:
        """Estimate the number of rows of a partition. The default reads all rows.

        Args:
            partition: The partition.

        Returns:
            The number of rows within a factor of two, if nothing is written during the call. It is 0 only for a
            partition without rows.
        """
        return sum(batch.num_rows for batch in self.scan_arrow(partition, KeyBounds(b"", None)))

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        """Wait for a turn in a named queue, which is shared by the processes that use the store.

        Turns only improve speed and fairness. Correctness must not depend on them: the default does not wait. The
        method raises no errors, even if the store is closed or cannot be reached.

        Args:
            name: Name of the queue.
            patience: Maximum time to wait in seconds. After it, the caller goes on without a turn.

        Returns:
            A context manager that holds the turn inside the `with` statement.
        """
        del name, patience
        return nullcontext()

    def persists(self) -> bool:
        """Return true if the data outlives the process. The default is true."""
        return True

    def describe(self) -> Description:
        """Return `backend` and other properties that matter for diagnostics: version, durability, server settings."""
        return {"backend": type(self).__name__}


def predicate_failed(partition: bytes, key: bytes, predicate: Predicate | None) -> PredicateFailed:
    """Return the error that every store raises if the predicate of a compare-and-swap does not hold.

    Args:
        partition: The partition.
        key: The key.
        predicate: The predicate, or `None` if the key was expected to be absent.

    Returns:
        The error.
    """
    if predicate is None:
        expected = "to be absent"
    elif predicate == EXISTS:
        expected = "to be present"
    else:
        expected = "unchanged since it was read"
    return PredicateFailed(
        f"key {key!r} of partition {partition!r} was expected {expected}", partition=partition, key=key
    )
