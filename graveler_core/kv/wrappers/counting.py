"""A store around a store that counts what is asked of it: the tests of budgets read it.

Counts operations by verb, and round trips: what a remote store would wait for. A verb for many keys is one round trip
where the inner store has the ability; else its fallback runs here and each single call is counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import pyarrow as pa

from graveler_core.kv import bulk
from graveler_core.kv.abilities import DropsPartitions, GetsMany, Item, Loads, ScansArrow, SetsMany, SplitsPartitions
from graveler_core.kv.paging import CHUNK_ROWS, FIRST_PAGE_ROWS, PAGE_ROWS, Interval
from graveler_core.kv.store import KeyValue, Predicate, Store, Stored


class Counting:
    """Passes every call on and counts it. `counts` holds calls by verb, `round_trips` their sum in waits.

    A scan counts one round trip for each page of rows that was consumed; `reset` sets both back to nothing. Counts are
    exact for one thread at a time.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.counts: Counter[str] = Counter()
        self.round_trips = 0

    def reset(self) -> None:
        """Forgets what was counted."""
        self.counts.clear()
        self.round_trips = 0

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        self._count("get")
        return self.inner.get(partition, key)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self._count("set")
        self.inner.set(partition, key, value)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self._count("set_if")
        return self.inner.set_if(partition, key, value, predicate)

    def delete(self, partition: bytes, key: bytes) -> None:
        self._count("delete")
        self.inner.delete(partition, key)

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self._count("delete_if")
        self.inner.delete_if(partition, key, predicate)

    def scan(
        self,
        partition: bytes,
        *,
        prefix: bytes = b"",
        start: bytes = b"",
        end: bytes | None = None,
        limit: int | None = None,
    ) -> Iterator[KeyValue]:
        rows = self.inner.scan(partition, prefix=prefix, start=start, end=end, limit=limit)
        self._count("scan", 0)
        return self._counted(rows)

    def close(self) -> None:
        self.inner.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        if isinstance(self.inner, GetsMany):
            self._count("get_many")
            return self.inner.get_many(keys)
        return [self.get(partition, key) for partition, key in keys]

    def set_many(self, items: Sequence[Item]) -> None:
        if isinstance(self.inner, SetsMany):
            self._count("set_many")
            self.inner.set_many(items)
            return
        for partition, key, value in items:
            self.set(partition, key, value)

    def sets_atomically(self) -> bool:
        return bulk.sets_atomically(self.inner)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        if isinstance(self.inner, Loads):
            self._count("load", -(-len(keys) // CHUNK_ROWS))
            self.inner.load(partition, keys, values)
            return
        rows = zip(keys.to_pylist(), values.to_pylist(), strict=True)
        self.set_many([(partition, key, value) for key, value in rows])

    def scan_arrow(self, partition: bytes, keys: Interval) -> Iterator[pa.RecordBatch]:
        if isinstance(self.inner, ScansArrow):
            self._count("scan_arrow", 0)
            return self._counted_batches(self.inner.scan_arrow(partition, keys))
        return bulk.batches(self.scan(partition, start=keys.lower, end=keys.upper))

    def drop_partition(self, partition: bytes) -> int:
        if isinstance(self.inner, DropsPartitions):
            dropped = self.inner.drop_partition(partition)
            self._count("drop_partition", dropped // CHUNK_ROWS + 1)
            return dropped
        return bulk.drop_one_by_one(self, partition)

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        if isinstance(self.inner, SplitsPartitions):
            self._count("split_points")
            return self.inner.split_points(partition, pieces)
        return bulk.split_by_scan(self.scan_arrow(partition, Interval(b"", None)), pieces)

    def _count(self, verb: str, round_trips: int = 1) -> None:
        self.counts[verb] += 1
        self.round_trips += round_trips

    def _counted(self, rows: Iterator[KeyValue]) -> Iterator[KeyValue]:
        self.round_trips += 1
        for number, row in enumerate(rows):
            if number >= FIRST_PAGE_ROWS and (number - FIRST_PAGE_ROWS) % PAGE_ROWS == 0:
                self.round_trips += 1
            yield row

    def _counted_batches(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        first = True
        for batch in batches:
            self.round_trips += 1
            first = False
            yield batch
        if first:
            self.round_trips += 1
