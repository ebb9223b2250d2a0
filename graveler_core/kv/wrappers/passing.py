"""Base class for wrappers of key-value stores. It sends every call that accesses stored data through one method.

A subclass overrides `step`. It is called for each such call and for each page of a scan, with a `StoreCall` and a
function that does the work. A method for many keys is one call, even if the inner store uses the default. To see the
single calls of the defaults, wrap the wrapper in `graveler_core.testing.plain_store.PlainStore`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final, TypeVar

import pyarrow as pa

from graveler_core.kv.paging import FIRST_PAGE_ROWS, PAGE_BYTES, PAGE_ROWS, KeyBounds
from graveler_core.kv.store import Description, Expected, Item, KeyValue, Predicate, Store, Stored

T = TypeVar("T")

_WRITES: Final = frozenset(
    (
        "set",
        "set_if",
        "delete",
        "delete_if",
        "set_many",
        "write_and_swap",
        "delete_together",
        "load",
        "drop_partition",
    )
)


@dataclass(frozen=True, slots=True)
class StoreCall:
    """One call of a store, or one page of a scan."""

    verb: str
    """Name of the method."""
    partition: bytes
    key: bytes = b""
    """The key; the first of several keys; the lower bound of a scan; or `b""` for a whole partition."""
    rows: int = 1
    """Number of keys of a call for many keys."""
    page: int = 0
    """Number of the page of a scan, from 0."""

    @property
    def writes(self) -> bool:
        """Return true if the call may change stored data."""
        return self.verb in _WRITES


class Passing(Store):
    """Store that passes every call on unchanged."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        """Execute one call and return its result. Subclasses override this method.

        Args:
            call: Description of the call.
            work: Function that executes the call on the inner store.
        """
        del call
        return work()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        return self.step(StoreCall("get", partition, key), lambda: self.inner.get(partition, key))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self.step(StoreCall("set", partition, key), lambda: self.inner.set(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        return self.step(
            StoreCall("set_if", partition, key), lambda: self.inner.set_if(partition, key, value, predicate)
        )

    def delete(self, partition: bytes, key: bytes) -> None:
        self.step(StoreCall("delete", partition, key), lambda: self.inner.delete(partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self.step(StoreCall("delete_if", partition, key), lambda: self.inner.delete_if(partition, key, predicate))

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
        return self._in_pages(StoreCall("scan", partition, max(prefix, start)), rows)

    def close(self) -> None:
        self.inner.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        partition, key = keys[0]
        return self.step(StoreCall("get_many", partition, key, len(keys)), lambda: self.inner.get_many(keys))

    def set_many(self, items: Sequence[Item]) -> None:
        partition, key, _ = items[0]
        self.step(StoreCall("set_many", partition, key, len(items)), lambda: self.inner.set_many(items))

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        partition, key, _ = swapped
        call = StoreCall("write_and_swap", partition, key, len(items) + 1)
        return self.step(call, lambda: self.inner.write_and_swap(items, swapped, predicate))

    def sets_atomically(self) -> bool:
        return self.inner.sets_atomically()

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        partition, key, _ = rows[0]
        call = StoreCall("delete_together", partition, key, len(rows))
        self.step(call, lambda: self.inner.delete_together(rows, unchanged))

    def deletes_together(self) -> bool:
        return self.inner.deletes_together()

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        self.step(StoreCall("load", partition, rows=len(keys)), lambda: self.inner.load(partition, keys, values))

    def scan_arrow(self, partition: bytes, keys: KeyBounds) -> Iterator[pa.RecordBatch]:
        return self._batch_by_batch(partition, keys.lower, self.inner.scan_arrow(partition, keys))

    def drop_partition(self, partition: bytes) -> int:
        return self.step(StoreCall("drop_partition", partition), lambda: self.inner.drop_partition(partition))

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        return self.step(StoreCall("split_points", partition), lambda: self.inner.split_points(partition, pieces))

    def about_rows(self, partition: bytes) -> int:
        return self.step(StoreCall("about_rows", partition), lambda: self.inner.about_rows(partition))

    def persists(self) -> bool:
        return self.inner.persists()

    def describe(self) -> Description:
        # No step, because this reads no stored data.
        return self.inner.describe()

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        # No step, because turns do not access stored data, and waiting for a turn is not a slow call.
        return self.inner.turn(name, patience)

    def _in_pages(self, call: StoreCall, rows: Iterator[KeyValue]) -> Iterator[KeyValue]:
        """Read pages of the same size as the statements of this library's backends. Each page is one step."""
        for number in count():
            wanted = PAGE_ROWS if number else FIRST_PAGE_ROWS
            page = self.step(StoreCall(call.verb, call.partition, call.key, page=number), partial(_take, rows, wanted))
            yield from page.rows
            if page.last:
                return
            call = StoreCall(call.verb, call.partition, page.rows[-1].key + b"\x00")

    def _batch_by_batch(
        self, partition: bytes, lower: bytes, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        for number in count():
            batch = self.step(StoreCall("scan_arrow", partition, lower, page=number), lambda: next(batches, None))
            if batch is None:
                return
            yield batch


@dataclass(frozen=True, slots=True)
class _Taken:
    rows: list[KeyValue]
    last: bool


def _take(rows: Iterator[KeyValue], wanted: int) -> _Taken:
    taken: list[KeyValue] = []
    size = 0
    while len(taken) < wanted and size < PAGE_BYTES:
        row = next(rows, None)
        if row is None:
            return _Taken(taken, last=True)
        taken.append(row)
        size += len(row.value)
    return _Taken(taken, last=False)
