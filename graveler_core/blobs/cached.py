"""Objects read through a cache on local disk. Only immutable objects are cached, so a cached copy is always right.

A cached object may have been deleted from the store. The cache is therefore no proof that an object exists; writers
must ask the store.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs, Data
from graveler_core.errors import GravelerError


class CachedBlobs(PassingBlobs):
    """Object store that caches whole objects below `prefix` on local disk."""

    def __init__(self, blobs: Blobs, cache: DiskCache, prefix: str = "") -> None:
        super().__init__(blobs)
        self._cache = cache
        self._prefix = prefix

    def read(self, address: str) -> bytes:
        if not address.startswith(self._prefix):
            return self.beneath.read(address)
        uri = self.beneath.uri(address)
        content = self._cache.get(uri)
        if content is None:
            content = self.beneath.read(address)
            self._cache.put(uri, content)
        return content

    def chunks(self, address: str) -> Iterator[Data]:
        if not address.startswith(self._prefix):
            return self.beneath.chunks(address)
        content = self.read(address)
        return iter((content,) if content else ())

    def delete(self, address: str) -> None:
        try:
            self.beneath.delete(address)
        finally:
            self._cache.drop(self.beneath.uri(address))

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        try:
            return self.beneath.delete_many(addresses)
        finally:
            for address in addresses:
                self._cache.drop(self.beneath.uri(address))
