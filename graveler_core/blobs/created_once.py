"""A wrapper for one call that may try several times: what an attempt has written, the next one does not write again."""

from __future__ import annotations

from collections.abc import Iterator

from graveler_core.blobs.port import BlobInfo, Blobs, Data


class CreatedOnce:
    """`Blobs` that creates an address once.

    For the length of one call only: what it remembers is no evidence after a collection by age.
    """

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._created: set[str] = set()

    def create(self, address: str, data: Data) -> bool:
        if address in self._created:
            return False
        new = self._blobs.create(address, data)
        self._created.add(address)
        return new

    def read(self, address: str) -> bytes:
        return self._blobs.read(address)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self._blobs.read_range(address, start, length)

    def head(self, address: str) -> BlobInfo | None:
        return self._blobs.head(address)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return self._blobs.list(prefix, after)

    def delete(self, address: str) -> None:
        self._blobs.delete(address)
        self._created.discard(address)

    def renew(self, address: str) -> bool:
        return self._blobs.renew(address)

    def uri(self, address: str) -> str:
        return self._blobs.uri(address)

    def close(self) -> None:
        self._blobs.close()
