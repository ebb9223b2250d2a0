"""Objects read through a cache on local disk. Only what never changes is kept, so what is here is what is there.

An object that another process deleted may still be read here. Nobody may take that for proof that it exists, as nobody
may of what is in memory: writers ask the store.
"""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.blobs.disk_cache import DiskCache
from graveler_core.blobs.port import BlobInfo, Blobs, Data


class CachedBlobs:
    """`Blobs` whose whole objects below `prefix` are read once, as long as the cache keeps them."""

    def __init__(self, blobs: Blobs, cache: DiskCache, prefix: str = "") -> None:
        self._blobs = blobs
        self._cache = cache
        self._prefix = prefix

    @property
    def beneath(self) -> Blobs:
        """The same objects, read from where they are."""
        return self._blobs

    def create(self, address: str, data: Data) -> bool:
        return self._blobs.create(address, data)

    def read(self, address: str) -> bytes:
        if not address.startswith(self._prefix):
            return self._blobs.read(address)
        uri = self._blobs.uri(address)
        content = self._cache.get(uri)
        if content is None:
            content = self._blobs.read(address)
            self._cache.put(uri, content)
        return content

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self._blobs.read_range(address, start, length)

    def head(self, address: str) -> BlobInfo | None:
        return self._blobs.head(address)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return self._blobs.list(prefix, after)

    def delete(self, address: str) -> None:
        try:
            self._blobs.delete(address)
        finally:
            self._cache.drop(self._blobs.uri(address))

    def renew(self, address: str) -> bool:
        return self._blobs.renew(address)

    def uri(self, address: str) -> str:
        return self._blobs.uri(address)

    def close(self) -> None:
        self._blobs.close()
