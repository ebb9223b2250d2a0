"""Base of wrappers around object stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from graveler_core.blobs.port import BlobInfo, Blobs, Data
from graveler_core.errors import GravelerError


class PassingBlobs:
    """Object store that passes every call on. Subclasses override some of the methods."""

    def __init__(self, blobs: Blobs) -> None:
        self.beneath = blobs
        """The wrapped object store."""

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        return self.beneath.create(address, data, sure=sure)

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        self.beneath.upload(address, parts)

    def read(self, address: str) -> bytes:
        return self.beneath.read(address)

    def chunks(self, address: str) -> Iterator[Data]:
        return self.beneath.chunks(address)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        return self.beneath.read_range(address, start, length)

    @property
    def range_bytes(self) -> int:
        return self.beneath.range_bytes

    def head(self, address: str) -> BlobInfo | None:
        return self.beneath.head(address)

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        return self.beneath.list(prefix, after)

    def delete(self, address: str) -> None:
        self.beneath.delete(address)

    @property
    def deletes_at_once(self) -> int:
        return self.beneath.deletes_at_once

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        return self.beneath.delete_many(addresses)

    def renew(self, address: str) -> bool:
        return self.beneath.renew(address)

    def uri(self, address: str) -> str:
        return self.beneath.uri(address)

    def presigned(self, address: str, seconds: int, *, upload: bool = False) -> str:
        return self.beneath.presigned(address, seconds, upload=upload)

    def close(self) -> None:
        self.beneath.close()
