"""Storage of dumps: one object at a URI, in any object store.

A dump is collected in a temporary file and stored in one step when it is complete. An incomplete dump is never visible,
and nothing is overwritten. Memory is bounded: the temporary file is mapped, and a stored dump is read in blocks.

The time of each request is limited, so a large dump is sent by several requests. Buckets cannot refuse these if the
object exists, so its absence is checked just before. If two large dumps are stored in one object of a bucket at the
same time, the one that ends later replaces the other.
"""

from __future__ import annotations

import mmap
import posixpath
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO
from tempfile import TemporaryFile

from graveler_core.blobs.failures import on_local_disk
from graveler_core.blobs.port import Blobs, BlobStores
from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound, NotUnique
from graveler_core.model.address import Namespace, namespace

PIECE_BYTES = 4 << 20
"""Number of bytes of a dump that are read at once."""
WHOLE_BYTES = 8 << 20
"""Maximum size of a dump that is stored by one request."""


@dataclass(frozen=True, slots=True)
class DumpFile:
    """Object that contains a dump, or will contain it."""

    blobs: Blobs
    address: str

    @property
    def uri(self) -> str:
        return self.blobs.uri(self.address)

    @contextmanager
    def created(self) -> Iterator[TemporaryDump]:
        """Open a file for writing the dump. It is stored when the `with` statement ends without an error.

        Raises:
            NotUnique: The object exists (`BlobExists`).
            Unavailable: The temporary file cannot be written (`StoreFull`, …). Nothing was stored.
        """
        if self.blobs.head(self.address) is not None:
            raise self._exists()
        with ExitStack() as opened:
            with on_local_disk():
                # Unbuffered, because closing a buffer that could not be written would fail again.
                file = opened.enter_context(TemporaryFile(buffering=0))
            yield TemporaryDump(file)
            # Not closed here, because a store in memory keeps using it.
            self._store(memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))

    def size(self) -> int:
        """Return the size of the dump in bytes.

        Raises:
            NotFound: The dump does not exist.
        """
        info = self.blobs.head(self.address)
        if info is None:
            raise NotFound(f"dump {self.uri}: does not exist", uri=self.uri)
        return info.size

    def corrupt(self, at: int, why: str) -> CorruptData:
        """Return the error for a dump that is damaged at byte `at`."""
        return CorruptData(f"dump {self.uri}: byte {at:,}: {why}", kind=Kind.CorruptDump, uri=self.uri, at=at)

    def _store(self, dump: memoryview) -> None:
        if len(dump) <= WHOLE_BYTES:
            if not self.blobs.create(self.address, dump):
                raise self._exists()
            return
        if self.blobs.head(self.address) is not None:
            raise self._exists()
        try:
            self.blobs.upload(self.address, (dump[at : at + PIECE_BYTES] for at in range(0, len(dump), PIECE_BYTES)))
        except NotUnique:
            raise self._exists() from None

    def _exists(self) -> NotUnique:
        return NotUnique(f"dump {self.uri}: already exists; nothing is overwritten", kind=Kind.BlobExists, uri=self.uri)


@dataclass(frozen=True, slots=True)
class TemporaryDump:
    """Temporary file in which a dump is collected."""

    file: FileIO

    def write(self, data: bytes) -> None:
        """Append all bytes."""
        left = memoryview(data)
        with on_local_disk():
            while left:
                left = left[self.file.write(left) :]

    def size(self) -> int:
        """Return the number of bytes that were written."""
        return self.file.tell()


class Pieces:
    """Bytes of a dump, in order."""

    def __init__(self, file: DumpFile) -> None:
        self._file = file
        self._held = b""
        self._next = 0
        self.at = 0
        """Offset of the next byte."""
        self.size = file.size()

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes, or fewer at the end of the dump."""
        while len(self._held) < count and self._next < self.size:
            piece = self._file.blobs.read_range(self._file.address, self._next, max(PIECE_BYTES, count))
            if not piece:
                break
            self._next += len(piece)
            self._held += piece
        taken, self._held = self._held[:count], self._held[count:]
        self.at += len(taken)
        return taken


def dump_file(stores: BlobStores, uri: str) -> DumpFile:
    """Return the object at a URI (file:///…, s3://…, gs://…, az://…, memory://…).

    Raises:
        InvalidInput: The URI cannot be that of an object.
    """
    place = namespace(uri)
    above, _, name = posixpath.normpath("/" + place.path).rpartition("/")
    above = above.strip("/")
    if not name or (place.scheme == "file" and not above):
        raise InvalidInput(f"dump {uri!r}: must name an object below a directory or bucket", kind=Kind.InvalidUrl)
    return DumpFile(stores.at(Namespace(place.scheme, place.bucket, above).uri), name)
