"""What passes between the library and its stores: bytes handed over to be written, records and objects asked for.

Bytes are those of keys and values, and of objects, before a store adds its own (pages, logs, indexes). Metering takes
about a microsecond a call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.scenario import Place
from graveler_core.blobs.counting import CountingBlobs
from graveler_core.blobs.port import Blobs, BlobStores, Foreign
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.abilities import GetsMany, Item, Loads, SetsMany
from graveler_core.kv.store import Predicate, Store, Stored
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.address import Namespace


@dataclass(frozen=True, slots=True)
class Traffic:
    """What passed."""

    written: int = 0
    """Bytes, of records and of objects."""
    records: int = 0
    """Keys that were asked for, one by one or several at once; not rows of scans."""
    objects: int = 0
    """Requests that read an object or a part of it."""

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(self.written - earlier.written, self.records - earlier.records, self.objects - earlier.objects)


class MeteredRecords(Passing):
    """A key-value store, metered; a fallback's single calls are metered, not the call for many that they stand for."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._lock = threading.Lock()
        self._gets_many = inner if isinstance(inner, GetsMany) else None  # asked once: asking takes as long as a call
        self._sets_many = inner if isinstance(inner, SetsMany) else None
        self.written = self.asked = 0

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        self._count(asked=1)
        return self.inner.get(partition, key)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        if self._gets_many is None:
            return super().get_many(keys)
        self._count(asked=len(keys))
        return self._gets_many.get_many(keys)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self._count(len(partition) + len(key) + len(value))
        self.inner.set(partition, key, value)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self._count(len(partition) + len(key) + len(value))
        return self.inner.set_if(partition, key, value, predicate)

    def set_many(self, items: Sequence[Item]) -> None:
        if self._sets_many is None:
            super().set_many(items)
            return
        self._count(sum(len(partition) + len(key) + len(value) for partition, key, value in items))
        self._sets_many.set_many(items)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
        if isinstance(self.inner, Loads):
            self._count(len(partition) * len(keys) + _length(keys) + _length(values))
        super().load(partition, keys, values)

    def _count(self, written: int = 0, asked: int = 0) -> None:
        with self._lock:
            self.written += written
            self.asked += asked


def _length(column: pa.BinaryArray) -> int:
    total: int = pc.sum(pc.binary_length(column)).as_py() or 0
    return total


class MeteredObjects:
    """Object stores, metered."""

    def __init__(self, inner: BlobStores) -> None:
        self._inner = inner
        self.metered: dict[str, CountingBlobs] = {}

    def at(self, namespace_uri: str) -> Blobs:
        """The objects of a storage namespace."""
        return self.metered.setdefault(namespace_uri, CountingBlobs(self._inner.at(namespace_uri)))

    def foreign(self, place: Namespace) -> Foreign:
        """The objects of others, not metered."""
        return self._inner.foreign(place)


class Meter:
    """Reads what has passed since the beginning."""

    def __init__(self, records: MeteredRecords, objects: MeteredObjects) -> None:
        self._records = records
        self._objects = objects

    def read(self) -> Traffic:
        """As it stands."""
        places = list(self._objects.metered.values())
        return Traffic(
            self._records.written + sum(place.bytes_written for place in places),
            self._records.asked,
            sum(place.calls["read"] + place.calls["read_range"] for place in places),
        )


@contextmanager
def metered(place: Place) -> Iterator[tuple[Graveler, Meter]]:
    """The store as `connect` opens it, and a meter. What runs in the background ends with the `with` statement."""
    with place.connect() as g:
        stores = g._stores  # the handle's own parts, with a meter between them
        records, objects = MeteredRecords(stores.kv), MeteredObjects(stores.blobs)
        yield Graveler(replace(stores, kv=records, blobs=objects)), Meter(records, objects)
