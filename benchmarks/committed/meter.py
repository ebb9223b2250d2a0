"""Meter for the traffic between the library and its stores: bytes written, records read and objects read.

Bytes are those of keys, values and objects. The overhead of the stores (pages, logs, indexes) is not included. Metering
takes about a microsecond per call.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.scenario import Place
from graveler_core.blobs.port import Blobs, BlobStores, Foreign
from graveler_core.facade.graveler import Graveler
from graveler_core.kv.store import Item, Predicate, Store, Stored
from graveler_core.kv.wrappers.passing import Passing
from graveler_core.model.address import Namespace
from graveler_core.testing.counting_blobs import CountingBlobs


@dataclass(frozen=True, slots=True)
class Traffic:
    """Traffic of a measurement."""

    written: int = 0
    """Bytes written to records and objects."""
    records: int = 0
    """Number of keys in single and batched reads. Rows of scans do not count."""
    objects: int = 0
    """Number of requests that read an object or a range of it."""

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(self.written - earlier.written, self.records - earlier.records, self.objects - earlier.objects)


class MeteredRecords(Passing):
    """Key-value store that counts traffic and passes all calls on."""

    def __init__(self, inner: Store) -> None:
        super().__init__(inner)
        self._lock = threading.Lock()
        self.written = self.asked = 0

    def get(self, partition: bytes, key: bytes) -> Stored | None:
        self._count(asked=1)
        return self.inner.get(partition, key)

    def get_many(self, keys: Sequence[tuple[bytes, bytes]]) -> list[Stored | None]:
        self._count(asked=len(keys))
        return self.inner.get_many(keys)

    def set(self, partition: bytes, key: bytes, value: bytes) -> None:
        self._count(len(partition) + len(key) + len(value))
        self.inner.set(partition, key, value)

    def set_if(self, partition: bytes, key: bytes, value: bytes, predicate: Predicate | None) -> Predicate:
        self._count(len(partition) + len(key) + len(value))
        return self.inner.set_if(partition, key, value, predicate)

    def set_many(self, items: Sequence[Item]) -> None:
        self._count(sum(len(part) for row in items for part in row))
        self.inner.set_many(items)

    def write_and_swap(self, items: Sequence[Item], swapped: Item, predicate: Predicate | None) -> Predicate:
        self._count(sum(len(part) for row in (*items, swapped) for part in row))
        return self.inner.write_and_swap(items, swapped, predicate)

    def load(self, partition: bytes, keys: pa.BinaryArray, values: pa.BinaryArray) -> None:
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
    """Object stores that count traffic and pass all calls on."""

    def __init__(self, inner: BlobStores) -> None:
        self._inner = inner
        self.metered: dict[str, CountingBlobs] = {}

    def at(self, namespace_uri: str) -> Blobs:
        """Return the metered store of a storage namespace."""
        return self.metered.setdefault(namespace_uri, CountingBlobs(self._inner.at(namespace_uri)))

    def foreign(self, place: Namespace) -> Foreign:
        """Return the store of a foreign location, which is not metered."""
        return self._inner.foreign(place)


class Meter:
    """Reader of the traffic since the start."""

    def __init__(self, records: MeteredRecords, objects: MeteredObjects) -> None:
        self._records = records
        self._objects = objects

    def read(self) -> Traffic:
        """Return the traffic up to now."""
        places = list(self._objects.metered.values())
        return Traffic(
            self._records.written + sum(place.bytes_written for place in places),
            self._records.asked,
            sum(place.calls["read"] + place.calls["read_range"] for place in places),
        )


@contextmanager
def metered(place: Place) -> Iterator[tuple[Graveler, Meter]]:
    """Connect to the stores of a run through a meter. Background work ends with the `with` block."""
    with place.connect() as g:
        stores = g._stores
        records, objects = MeteredRecords(stores.kv), MeteredObjects(stores.blobs)
        yield Graveler(replace(stores, kv=records, blobs=objects)), Meter(records, objects)
