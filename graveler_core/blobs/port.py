"""Port of object storage for one storage namespace. All other packages use only this module.

An address names an object below the namespace (`relative_address`). Objects never change, and nothing is overwritten.
Objects can therefore be cached without limit, and a write with an unknown outcome can be repeated.

Errors of all methods, in addition to those they document: `InvalidInput` for an address that could leave the namespace,
`Unavailable` (kinds `StoreUnreachable`, `StoreReadOnly`, `StoreFull`, `PermissionDenied`) and `SlowDown`; for writes
also `OutcomeUnknown`. `blobs.unreadable` recognises errors of reads that concern one object. An instance may be used by
several threads at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

import pyarrow as pa

from graveler_core.blobs.addresses import checked_address
from graveler_core.errors import GravelerError
from graveler_core.model.address import Namespace

Data: TypeAlias = bytes | bytearray | memoryview
"""Content that can be written without a copy. Wrap other buffers (pyarrow, numpy) in a contiguous `memoryview`."""
LISTED = pa.schema(
    [
        pa.field("key", pa.binary(), nullable=False),
        pa.field("size", pa.int64(), nullable=False),
        pa.field("etag", pa.string()),
        pa.field("mtime", pa.timestamp("us", tz="UTC")),
    ]
)
"""Columns of a listing: the key below the listed location, the size in bytes, the ETag without quotes, and the
modification time.
"""

CHUNK_BYTES = 1 << 20
"""Size of a chunk of an object that is read as a whole: it fits in the caches of a processor."""
UNORDERED = "--x-s3"
"""Suffix of the names of S3 directory buckets, which are listed in no order."""
RANGE_BYTES = 8 << 20
"""Size of a range that amortises a request to a remote store."""
UPLOADED_BYTES = 64 << 20
"""Bytes that one upload sends at once to a remote store, in several requests."""
_LEAPING = {"s3", "gs", "memory"}
"""Stores that can start a listing at any key at no cost. Others list from the beginning and discard objects."""


def starts_at_any_key(place: Namespace) -> bool:
    """Return true if listings of foreign objects are ordered and can start at any key at no cost."""
    return place.scheme in _LEAPING and not place.bucket.endswith(UNORDERED)


@dataclass(frozen=True, slots=True)
class BlobInfo:
    """Metadata of an object."""

    address: str
    size: int
    """Size in bytes."""
    etag: str | None
    """Differs if the bytes differ. Unchanged by a renewal (except in memory://)."""
    mtime: datetime
    """Time of writing or renewal in UTC, by the clock of the store. Some stores have a resolution of one second."""


class Blobs(Protocol):
    """Objects of one storage namespace. Implementations are subclasses, and inherit the methods that have a default."""

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        """Create an object unless it exists, atomically: readers see all of `data` or nothing.

        An object is sent in one request, so the store's limit for one request applies (S3: 5 GiB).

        Args:
            address: Address of the object.
            data: Its content.
            sure: Return true only if the object surely did not exist before. Without it, an object with exactly these
                bytes also counts as new if the response to an earlier attempt of this call was lost.

        Returns:
            True if the object is new, false if the address was taken. The bytes of an existing object are not
            compared.
        """

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        """Create an object from parts, in bounded memory and in several requests: readers see all of it or nothing.

        No other call may have used the address: only local directories refuse one that is taken. An upload that fails
        may leave parts in the store that no reader sees, or an object that nothing refers to. Errors of `parts` are
        raised as they are.

        Raises:
            NotUnique: The address is taken, in a local directory.
        """

    def read(self, address: str) -> bytes:
        """Read a whole object.

        Raises:
            NotFound: The object does not exist (`ObjectNotFound`).
        """

    def chunks(self, address: str) -> Iterator[Data]:
        """Yield a whole object in chunks of about `CHUNK_BYTES`, as it arrives, by one request and in bounded memory.

        An empty object has no chunk, and no chunk is empty. An object that is in memory or in a cache is one chunk.

        Raises:
            NotFound: The object does not exist. It is raised by the first step of the iteration.
        """

    def read_range(self, address: str, start: int, length: int) -> bytes:
        """Read at most `length` bytes from `start`: fewer if the object ends sooner, none if it ends before `start`.

        Raises:
            NotFound: The object does not exist.
            InvalidInput: `start` or `length` is negative.
        """

    @property
    def range_bytes(self) -> int:
        """Length in bytes from which longer ranges are not read at a higher rate. By default `RANGE_BYTES`."""
        return RANGE_BYTES

    def head(self, address: str) -> BlobInfo | None:
        """Return the metadata of an object, or `None` if it does not exist."""

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """Yield objects whose address begins with `prefix` and is greater than `after`, in the order of the address as
        UTF-8.

        The listing is lazy, page by page, and not a snapshot: an object that is created or deleted meanwhile may or may
        not be included.
        """

    def delete(self, address: str) -> None:
        """Delete an object. A missing object is not an error."""

    @property
    def deletes_at_once(self) -> int:
        """Number of objects from which larger calls of `delete_many` have no higher rate of deletion. By default 1."""
        return 1

    def delete_many(self, addresses: Sequence[str]) -> dict[str, GravelerError]:
        """Delete objects. Missing objects are not errors. Nothing is deleted if an address is invalid.

        The default deletes them one by one. A store overrides it if it can delete several objects by one request, or
        concurrently. The order is undefined, and the call is not atomic.

        Returns:
            For each object that may still exist, the error that `delete` raises. Empty if all objects are deleted.
        """
        failed = dict[str, GravelerError]()
        for address in addresses:
            checked_address(address)
        for address in addresses:
            try:
                self.delete(address)
            except GravelerError as e:
                failed[address] = e
        return failed

    def renew(self, address: str) -> bool:
        """Set the modification time of an object to now, so that a sweep keeps it. Return false if it does not exist.

        Local directories set the time. Other stores write the same bytes again, because S3 refuses to copy an object
        onto itself. An object that is deleted at the same moment may therefore exist afterwards, with its own bytes.
        """

    def uri(self, address: str) -> str:
        """Return the normalised absolute URI of an object, percent-encoded: file:///…, s3://…, gs://…, az://…,
        memory://….

        Hadoop takes paths literally and uses the scheme s3a for S3. Callers that pass the URI to Spark must convert
        it.
        """

    def presigned(self, address: str, seconds: int, *, upload: bool = False) -> str:
        """Return a URL with which anybody can read an object for some time, without further credentials.

        Args:
            address: Address of the object.
            seconds: Time for which the URL is valid.
            upload: Return a URL for writing the object with PUT instead. It also replaces an object that exists.

        Raises:
            InvalidInput: The store does not sign URLs: file:// and memory://.
        """

    def close(self) -> None:
        """Close connections. The objects stay, including those of memory://."""


class Foreign(Protocol):
    """Objects that graveler does not own, below a location. They are listed and read, never written, and may have any
    keys.

    They may change at any time. The ETag differs if an object was written again at its location; ETags of different
    locations cannot be compared. Errors are those of `Blobs`, and `NotFound` for a missing object.
    """

    def pages(self, after: str = "", through: str | None = None) -> Iterator[pa.Table]:
        """Yield objects with keys greater than `after` and not greater than `through`, as tables in `LISTED`.

        The listing is not a snapshot. Keys are ascending, except in S3 directory buckets. A directory marker is an
        empty object whose key ends in a slash. Some stores list it without the slash and out of order, and `head` does
        not find it.
        """

    def split_points(self, most: int) -> list[str]:
        """Return at most `most` ascending keys that divide the listing into key ranges to list concurrently.

        The sizes of the key ranges are unknown. Returns no keys if the store is not faster this way, or if no split
        points are known. Takes at most one request for each key.
        """

    def head(self, key: str) -> BlobInfo | None:
        """Return the metadata of an object, or `None` if it does not exist."""

    def read(self, key: str) -> bytes:
        """Read a whole object."""

    def chunks(self, key: str) -> Iterator[Data]:
        """Yield a whole object in chunks, as `Blobs.chunks`."""

    def read_range(self, key: str, start: int, length: int) -> bytes:
        """Read at most `length` bytes from `start`, as `Blobs.read_range`."""

    @property
    def range_bytes(self) -> int:
        """Length in bytes from which longer ranges are not read at a higher rate, as `Blobs.range_bytes`."""

    def presigned(self, key: str, seconds: int) -> str:
        """Return a URL with which anybody can read an object for some time, as `Blobs.presigned`."""


class BlobStores(Protocol):
    """Opens storage namespaces of repositories, and foreign locations."""

    def at(self, namespace: str) -> Blobs:
        """Return the objects of a storage namespace. It is the same value for the same namespace.

        Raises:
            InvalidInput: The namespace is invalid.
        """

    def foreign(self, place: Namespace) -> Foreign:
        """Return the foreign objects below a location, without opening anything yet."""
