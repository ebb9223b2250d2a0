"""Store in the memory of this process: each partition is a dictionary with a sorted list of keys.

It is for tests, simulation and experiments. It is also the reference implementation of `Store`: other backends are
compared with it.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Final

import pyarrow as pa

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.paged import PagedStore
from graveler_core.kv.limits import check_key, check_value
from graveler_core.kv.paging import (
    PAGE_BYTES,
    KeyBounds,
    RowPage,
    split_rows,
)
from graveler_core.kv.store import (
    EXISTS,
    Description,
    Expected,
    Item,
    Predicate,
    Store,
    Stored,
    predicate_failed,
)
from graveler_core.telemetry.secrets import without_password


@dataclass(slots=True)
class _Partition:
    keys: list[bytes] = field(default_factory=list)
    values: dict[bytes, bytes] = field(default_factory=dict)

    def put(self, key: bytes, value: bytes) -> None:
        if key not in self.values:
            insort(self.keys, key)
        self.values[key] = value

    def remove(self, key: bytes) -> None:
        if self.values.pop(key, None) is not None:
            del self.keys[bisect_left(self.keys, key)]

    def page(self, keys: KeyBounds, rows: int) -> RowPage:
        first = bisect_left(self.keys, keys.lower)
        stop = len(self.keys) if keys.upper is None else bisect_left(self.keys, keys.upper)
        values: list[bytes] = []
        size = 0
        for key in self.keys[first : min(first + rows, stop)]:
            values.append(self.values[key])
            size += len(values[-1])
            if size >= PAGE_BYTES:
                break
        return RowPage(self.keys[first : first + len(values)], values, last=first + len(values) >= stop)


@dataclass(slots=True)
class _Memory:
    partitions: dict[bytes, _Partition] = field(default_factory=dict)
    lock: Lock = field(default_factory=Lock)


_NAMED: Final[dict[str, _Memory]] = {}


def open_memory(url: str) -> Store:
    """Open `memory://` (a new, private store) or `memory://name` (a store that is shared within this process).

    A named store keeps its rows until the process ends, even while it is not open.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    name = url.removeprefix("memory://")
    if name == url or any(mark in name for mark in "/?#"):
        shown = without_password(url)
        raise InvalidInput(
            f"{shown!r} is not a valid memory URL; write memory:// or memory://name", kind=Kind.InvalidUrl, url=shown
        )
    if not name:
        return MemoryStore(_Memory())
    return MemoryStore(_NAMED.setdefault(name, _Memory()))  # atomic, so it needs no lock


class MemoryStore(PagedStore):
    """Store in memory. It overrides all methods of `Store` except `turn`, and `set_many` is atomic."""

    def __init__(self, memory: _Memory) -> None:
        self._memory = memory
        self._closed = False

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        check_key(partition, key)
        with self._memory.lock:
            value = self._partition(partition).values.get(key)
        return None if value is None else Stored(value, Predicate(value))

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        check_key(partition, key)
        check_value(key, value)
        with self._memory.lock:
            self._created(partition).put(key, value)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        check_key(partition, key)
        check_value(key, value)
        with self._memory.lock:
            _require(self._partition(partition).values.get(key), predicate, partition, key)
            self._created(partition).put(key, value)
        return Predicate(value)

    def delete(self, partition: bytes, key: bytes) -> None:
        check_key(partition, key)
        with self._memory.lock:
            self._partition(partition).remove(key)

    def delete_if(self, partition: bytes, key: bytes, predicate: Predicate) -> None:
        check_key(partition, key)
        with self._memory.lock:
            rows = self._partition(partition)
            _require(rows.values.get(key), predicate, partition, key)
            rows.remove(key)

    def close(self) -> None:
        self._closed = True

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        with self._memory.lock:
            values = [self._partition(partition).values.get(key) for partition, key in keys]
        return [None if value is None else Stored(value, Predicate(value)) for value in values]

    def set_many(self, items: Sequence[Item]) -> None:
        with self._memory.lock:
            for partition, key, value in items:
                self._created(partition).put(key, value)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        partition, key, new = swapped
        with self._memory.lock:
            _require(self._partition(partition).values.get(key), predicate, partition, key)
            for row_partition, row_key, value in (*items, swapped):
                self._created(row_partition).put(row_key, value)
        return Predicate(new)

    def delete_together(self, rows: Sequence[Expected], unchanged: Sequence[Expected]) -> None:
        with self._memory.lock:
            for partition, key, predicate in (*rows, *unchanged):
                _require(self._partition(partition).values.get(key), predicate, partition, key)
            for partition, key, _ in rows:
                self._partition(partition).remove(key)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        with self._memory.lock:
            rows = self._created(partition)
            rows.values.update(zip(keys.to_pylist(), values.to_pylist(), strict=True))
            rows.keys = sorted(rows.values)

    def drop_partition(self, partition: bytes) -> int:
        with self._memory.lock:
            dropped = self._partition(partition)
            self._memory.partitions.pop(partition, None)
        return len(dropped.keys)

    def split_points(self, partition: bytes, pieces: int) -> list[bytes]:
        with self._memory.lock:
            keys = self._partition(partition).keys
            return [keys[row] for row in split_rows(len(keys), pieces)]

    def about_rows(self, partition: bytes) -> int:
        with self._memory.lock:
            return len(self._partition(partition).keys)

    def persists(self) -> bool:
        return False

    def describe(self) -> Description:
        return {"backend": "memory", "durability": "none"}

    def _partition(self, partition: bytes) -> _Partition:
        if self._closed:
            raise Unavailable("the memory store was closed")
        return self._memory.partitions.get(partition) or _Partition()

    def _created(self, partition: bytes) -> _Partition:
        return self._memory.partitions.setdefault(partition, self._partition(partition))

    def _page(self, partition: bytes, keys: KeyBounds, rows: int) -> RowPage:
        with self._memory.lock:
            return self._partition(partition).page(keys, rows)


def _require(value: bytes | None, predicate: Predicate | None, partition: bytes, key: bytes) -> None:
    if predicate is None:
        holds = value is None
    elif predicate == EXISTS:
        holds = value is not None
    else:
        holds = value == predicate.token
    if not holds:
        raise predicate_failed(partition, key, predicate)
