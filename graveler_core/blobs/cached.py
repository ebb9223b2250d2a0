"""Objects read through a cache on local disk. Only what never changes is kept, so what is here is what is there.

An object that another process deleted may still be read here. Nobody may take that for proof that it exists, as nobody
may of what is in memory: writers ask the store.
"""

from __future__ import annotations

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import Blobs


class CachedBlobs(PassingBlobs):
    """`Blobs` whose whole objects below `prefix` are read once, as long as the cache keeps them."""

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

    def delete(self, address: str) -> None:
        try:
            self.beneath.delete(address)
        finally:
            self._cache.drop(self.beneath.uri(address))
