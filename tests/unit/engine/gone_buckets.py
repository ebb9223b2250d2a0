"""Storage namespaces whose bucket does not exist any more."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from graveler_core.blobs.passing import PassingBlobs
from graveler_core.blobs.port import BlobInfo, Blobs, BlobStores, Foreign
from graveler_core.errors import Kind, Unavailable
from graveler_core.model.address import Namespace


class MissingBucket(PassingBlobs):
    """Every listing and deletion is answered as by a service that does not know the bucket."""

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        raise Unavailable("cannot list: the bucket does not exist", kind=Kind.BucketNotFound)

    def delete(self, address: str) -> None:
        raise Unavailable("cannot delete: the bucket does not exist", kind=Kind.BucketNotFound)


@dataclass
class WithoutBucket:
    """Storage namespaces, one of which is in a bucket that does not exist."""

    inner: BlobStores
    gone: str

    def at(self, namespace: str) -> Blobs:
        blobs = self.inner.at(namespace)
        return MissingBucket(blobs) if namespace == self.gone else blobs

    def foreign(self, place: Namespace) -> Foreign:
        return self.inner.foreign(place)
