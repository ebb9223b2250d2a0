"""Stores that refuse every change: whoever only reads is not disturbed by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, BlobStores, Data, Foreign
from graveler_core.errors import GravelerError
from graveler_core.kv.wrappers.passing import Passing, StoreCall
from graveler_core.model.address import Namespace
from graveler_core.stores import Stores

T = TypeVar("T")


class ReadOnly(Passing):
    """Passes reads on, and counts them by verb; a change ends the test."""

    def __init__(self, inner: Passing) -> None:
        super().__init__(inner)
        self.counts: Counter[str] = Counter()

    def step(self, call: StoreCall, work: Callable[[], T]) -> T:
        assert not call.writes, call
        self.counts[call.verb] += 1
        return work()


class ReadOnlyBlobs(PassingBlobs):
    """The same for objects."""

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        raise AssertionError(f"{address} was written, {len(data)} bytes")

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        raise AssertionError(f"{address} was written")

    def delete(self, address: str) -> None:
        raise AssertionError(f"{address} was deleted")

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        raise AssertionError(f"{addresses} were deleted")

    def renew(self, address: str) -> bool:
        raise AssertionError(f"{address} was renewed")


class ReadOnlyStores:
    """The objects of all namespaces."""

    def __init__(self, beneath: BlobStores) -> None:
        self._beneath = beneath

    def at(self, namespace: str) -> Blobs:
        return ReadOnlyBlobs(self._beneath.at(namespace))

    def foreign(self, place: Namespace) -> Foreign:
        return self._beneath.foreign(place)


def read_only(stores: Stores) -> Stores:
    """The same stores, for who only reads."""
    return replace(stores, kv=ReadOnly(stores.kv), blobs=ReadOnlyStores(stores.blobs))  # type: ignore[arg-type]
