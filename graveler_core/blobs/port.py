"""The port of object storage, bound to one storage namespace. Everything above this package knows only this.

An address names an object below the namespace (`relative_address`); an object is bytes that never change: nothing is
overwritten. So what was read once may be cached for ever, and repeating a write that may have happened is safe.

Errors of every verb, besides those named at it: `InvalidInput` for an address that could leave the namespace,
`Unavailable` (kinds `StoreUnreachable`, `StoreReadOnly`, `StoreFull`, `PermissionDenied`) and `SlowDown`; of the verbs
that write also `OutcomeUnknown`. An instance may be used by several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

import pyarrow as pa

from graveler_core.model.address import Namespace

Data: TypeAlias = bytes | bytearray | memoryview
"""What can be written, without a copy: wrap other buffers (pyarrow, numpy) in a contiguous `memoryview`."""
LISTED = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("etag", pa.string()),
        pa.field("mtime", pa.timestamp("us", tz="UTC")),
    ]
)
"""What a listing tells of objects: the key below the place that was listed, bytes, the store's etag without quotes."""


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """What a store knows of an object without reading it."""

    address: str
    size: int
    """Bytes."""
    etag: str | None
    """Differs whenever the bytes differ; stays the same when the object is renewed (but not in memory://)."""
    mtime: datetime
    """Time of writing or renewal by the store's clock, in UTC; some stores keep whole seconds."""


class Blobs(Protocol):
    """The objects of one storage namespace."""

    def create(self, address: str, data: Data) -> bool:
        """Put if absent, atomically: readers see all of `data` or nothing, whatever breaks off the writing.

        Returns True when the object is new, False when the address was taken (its bytes are not compared). Where the
        first attempt's reply was lost, an object of exactly these bytes counts as new. An object of whatever size is
        sent in one request, so the store's limit for one (S3: 5 GiB) applies.
        """
        ...

    def read(self, address: str) -> bytes:
        """The whole object; `NotFound` (kind `ObjectNotFound`) where there is none."""
        ...

    def read_range(self, address: str, start: int, length: int) -> bytes:
        """At most `length` bytes from `start`: fewer where the object ends sooner, none where it ends before `start`.

        `NotFound` where there is no object, `InvalidInput` for a negative `start` or `length`.
        """
        ...

    def head(self, address: str) -> BlobInfo | None:
        """What is known of the object, None where there is none."""
        ...

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """Objects whose address begins with `prefix` and is greater than `after`, in order of the address as UTF-8.

        Lazy, by pages; not a snapshot: an object made or removed meanwhile may or may not be seen, all others are.
        """
        ...

    def delete(self, address: str) -> None:
        """Remove the object; no error where there is none."""
        ...

    def renew(self, address: str) -> bool:
        """Make the object's modification time now, so that a collection by age spares it. False where there is none.

        Local directories set the time; stores elsewhere get the same bytes again (S3 refuses a plain copy of an object
        onto itself), so an object that is deleted at the same moment may live on, with its own bytes.
        """
        ...

    def uri(self, address: str) -> str:
        """The object's absolute URI in its one spelling, percent-encoded: file:///…, s3://…, gs://…, az://…, memory://….

        Hadoop takes paths literally and calls S3 s3a: a caller that hands this to Spark unquotes and renames.
        """
        ...

    def close(self) -> None:
        """Let go of connections. The objects stay, those of memory:// too."""
        ...


class Foreign(Protocol):
    """The objects of others below a place: listed and read, never written, under whatever keys they bear there.

    They may change at any time. The etag differs whenever an object was written anew at its place; it says nothing
    about objects at two places. Errors as of `Blobs`; `NotFound` where there is no object to read.
    """

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        """Objects whose keys are greater than `after`, and not greater than `through`, as tables in `LISTED`, lazily.

        Not a snapshot. Keys rise, but in S3's directory buckets.

        Some stores show an object whose key ends in a slash, which marks a directory, without the slash: it is empty,
        stands in its own order, and `head` knows nothing of it.
        """
        ...

    def cuts(self, most: int) -> list[str]:
        """Keys, rising, that cut the listing into parts which are worth being listed side by side; `most` at most.

        Parts of unknown size; none where the store is not faster so, or nothing tells where to cut. A request each.
        """
        ...

    def head(self, key: str) -> BlobInfo | None:
        """What is known of the object, None where there is none."""
        ...

    def read(self, key: str) -> bytes:
        """The whole object."""
        ...


class BlobStores(Protocol):
    """Where the storage namespaces of repositories are opened, and places that belong to others."""

    def at(self, namespace: str) -> Blobs:
        """The objects of a storage namespace; the same value for the same namespace. `InvalidInput` if it is none."""
        ...

    def foreign(self, place: Namespace) -> Foreign:
        """The objects of others below a place. Opens nothing yet."""
        ...
