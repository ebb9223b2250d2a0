"""A store around a store that sends every call through one method: what the other wrappers are made of.

A subclass overrides `step` and gets each method of the store, each ability, and each page of a scan as one `Call` and
the work that does it. A verb for many keys is one call where the inner store has the ability; where it has not, its
fallback runs here and each single call goes through `step`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Final, TypeVar

import pyarrow as pa

from graveler_core.kv import bulk
from graveler_core.kv.abilities import (
    CountsRows,
    Description,
    DropsPartitions,
    Expected,
    GetsMany,
    Item,
    Loads,
    ScansArrow,
    SetsMany,
    SplitsPartitions,
)
from graveler_core.kv.paging import FIRST_PAGE_ROWS, PAGE_BYTES, PAGE_ROWS, Interval
from graveler_core.kv.store import KeyValue, Predicate, Store, Stored

T = TypeVar("T")

_WRITES: Final = frozenset(
    ("set", "set_if", "delete", "delete_if", "set_many", "delete_together", "load", "drop_partition")
)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a store, or one page of a scan."""

    verb: str
    """The method's name."""
    partition: bytes
    key: bytes = b""
    """The key, or the first of several; of a scan the smallest that may come; b"" for a whole partition."""
    rows: int = 1
    """How many keys a verb for many keys is given."""
    page: int = 0
    """Of a scan: which page, from 0."""

    @property
    def writes(self) -> bool:
        """Whether it may change what is stored."""
        return self.verb in _WRITES


class Passing:
    """Passes every call on. As it is, it changes nothing."""

    def __init__(self, inner: Store) -> None:
        self.inner = inner

    def step(self, call: Call, work: Callable[[], T]) -> T:
        """Does one call and gives its answer. To be overridden: what is done before, after or instead."""
        del call
        return work()

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        return self.step(Call("get", partition, key), lambda: self.inner.get(partition, key))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self.step(Call("set", partition, key), lambda: self.inner.set(partition, key, value))

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        return self.step(Call("set_if", partition, key), lambda: self.inner.set_if(partition, key, value, predicate))

    def delete(self, partition: bytes, key: bytes) -> None:
        self.step(Call("delete", partition, key), lambda: self.inner.delete(partition, key))

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        self.step(Call("delete_if", partition, key), lambda: self.inner.delete_if(partition, key, predicate))

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
        return self._in_pages(Call("scan", partition, max(prefix, start)), rows)

    def close(self) -> None:
        self.inner.close()

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        inner = self.inner
        if not isinstance(inner, GetsMany):
            return [self.get(partition, key) for partition, key in keys]
        partition, key = keys[0]
        return self.step(Call("get_many", partition, key, len(keys)), lambda: inner.get_many(keys))

    def set_many(self, items: Sequence[Item]) -> None:
        inner = self.inner
        if not isinstance(inner, SetsMany):
            for partition, key, value in items:
                self.set(partition, key, value)
            return
        partition, key, _ = items[0]
        self.step(Call("set_many", partition, key, len(items)), lambda: inner.set_many(items))

    def sets_atomically(self) -> bool:
        return bulk.sets_atomically(self.inner)

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        partition, key, _ = rows[0]
        call = Call("delete_together", partition, key, len(rows))
        self.step(call, lambda: bulk.delete_together(self.inner, rows, unchanged))

    def deletes_together(self) -> bool:
        return bulk.deletes_together(self.inner)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        inner = self.inner
        if not isinstance(inner, Loads):
            bulk.load_in_chunks(self, partition, keys, values)
            return
        self.step(Call("load", partition, rows=len(keys)), lambda: inner.load(partition, keys, values))

    def scan_arrow(self, partition: bytes, keys: Interval) -> Iterator[pa.RecordBatch]:
        if not isinstance(self.inner, ScansArrow):
            return bulk.batches(self.scan(partition, start=keys.lower, end=keys.upper))
        return self._batch_by_batch(partition, keys.lower, self.inner.scan_arrow(partition, keys))

    def drop_partition(self, partition: bytes) -> int:
        inner = self.inner
        if not isinstance(inner, DropsPartitions):
            return bulk.drop_one_by_one(self, partition)
        return self.step(Call("drop_partition", partition), lambda: inner.drop_partition(partition))

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        inner = self.inner
        if not isinstance(inner, SplitsPartitions):
            return bulk.split_by_scan(self.scan_arrow(partition, Interval(b"", None)), pieces)
        return self.step(Call("split_points", partition), lambda: inner.split_points(partition, pieces))

    def about_rows(self, partition: bytes) -> int:
        inner = self.inner
        if not isinstance(inner, CountsRows):
            return bulk.count_by_scan(self.scan_arrow(partition, Interval(b"", None)))
        return self.step(Call("about_rows", partition), lambda: inner.about_rows(partition))

    def describe(self) -> Description:
        # No step: nothing that is stored is read.
        return bulk.describe(self.inner)

    def turn(self, name: str, patience: float) -> AbstractContextManager[None]:
        # No step: it does nothing to what is stored, and what waits here is not the store.
        return bulk.turn(self.inner, name, patience)

    def _in_pages(self, call: Call, rows: Iterator[KeyValue]) -> Iterator[KeyValue]:
        """Takes as many rows in a step as the stores of this library read in one statement."""
        for number in count():
            wanted = PAGE_ROWS if number else FIRST_PAGE_ROWS
            page = self.step(Call(call.verb, call.partition, call.key, page=number), partial(_take, rows, wanted))
            yield from page.rows
            if page.last:
                return
            call = Call(call.verb, call.partition, page.rows[-1].key + b"\x00")

    def _batch_by_batch(
        self, partition: bytes, lower: bytes, batches: Iterator[pa.RecordBatch]
    ) -> Iterator[pa.RecordBatch]:
        for number in count():
            batch = self.step(Call("scan_arrow", partition, lower, page=number), lambda: next(batches, None))
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
