"""Where a dump is kept: one object at a URI, in any store that holds objects.

A dump is gathered in a temporary file and stored in one step when it is whole: nobody ever sees half of one, nothing is
overwritten, and memory is bounded, as the file is mapped. It is read in pieces. S3 takes up to 5 GiB so.
"""

from __future__ import annotations

import mmap
import posixpath
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from io import FileIO
from tempfile import TemporaryFile

from graveler_core.blobs.failures import Verb, translating
from graveler_core.blobs.port import Blobs, BlobStores
from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound, NotUnique
from graveler_core.model.address import Namespace, namespace

PIECE_BYTES = 4 << 20
"""What is read of a dump at once."""


@dataclass(frozen=True, slots=True)
class DumpFile:
    """The object that holds a dump, or will."""

    blobs: Blobs
    address: str

    @property
    def uri(self) -> str:
        return self.blobs.uri(self.address)

    @contextmanager
    def created(self) -> Iterator[Gathered]:
        """A file to write the dump to; stored when the `with` statement ends without an error.

        Raises:
            NotUnique: (`BlobExists`) something is there already.
            Unavailable: (`StoreFull`, …) the temporary file cannot be written; nothing was stored.
        """
        if self.blobs.head(self.address) is not None:
            raise self._exists()
        with ExitStack() as opened:
            with _on_local_disk():
                # Without a buffer: closing one that could not be written would fail again.
                file = opened.enter_context(TemporaryFile(buffering=0))
            yield Gathered(file)
            # Not closed here: a store in memory goes on using it.
            new = self.blobs.create(self.address, memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)))
        if not new:
            raise self._exists()

    def size(self) -> int:
        """Bytes of the dump. Raises `NotFound` where there is none."""
        info = self.blobs.head(self.address)
        if info is None:
            raise NotFound(f"dump {self.uri}: there is no such object", uri=self.uri)
        return info.size

    def corrupt(self, at: int, why: str) -> CorruptData:
        """The error for a dump that is not what it must be from byte `at` on."""
        return CorruptData(f"dump {self.uri}: byte {at:,}: {why}", kind=Kind.CorruptDump, uri=self.uri, at=at)

    def _exists(self) -> NotUnique:
        return NotUnique(f"dump {self.uri}: exists already; nothing is overwritten", kind=Kind.BlobExists, uri=self.uri)


@dataclass(frozen=True, slots=True)
class Gathered:
    """The temporary file in which a dump is gathered."""

    file: FileIO

    def write(self, data: bytes) -> None:
        """Append bytes, all of them."""
        left = memoryview(data)
        with _on_local_disk():
            while left:
                left = left[self.file.write(left) :]


class Pieces:
    """A dump's bytes from the first to the last."""

    def __init__(self, file: DumpFile) -> None:
        self._file = file
        self._held = b""
        self._next = 0
        self.at = 0
        """How many were taken."""
        self.size = file.size()

    def take(self, count: int) -> bytes:
        """The next bytes: fewer than `count` only where the dump ends."""
        while len(self._held) < count and self._next < self.size:
            piece = self._file.blobs.read_range(self._file.address, self._next, max(PIECE_BYTES, count))
            if not piece:
                break
            self._next += len(piece)
            self._held += piece
        taken, self._held = self._held[:count], self._held[count:]
        self.at += len(taken)
        return taken


def _on_local_disk() -> AbstractContextManager[None]:
    """Errors of the operating system as ours, about temporary files: what it says itself names no place."""
    return translating(Verb.WRITE, f"a temporary file in {tempfile.tempdir or 'any directory'}")


def dump_file(stores: BlobStores, uri: str) -> DumpFile:
    """The object at a URI (file:///…, s3://…, gs://…, az://…, memory://…). Raises `InvalidInput` where none can be."""
    place = namespace(uri)
    above, _, name = posixpath.normpath("/" + place.path).rpartition("/")
    above = above.strip("/")
    if not name or (place.scheme == "file" and not above):
        raise InvalidInput(f"dump {uri!r}: must name an object below a directory or bucket", kind=Kind.InvalidUrl)
    return DumpFile(stores.at(Namespace(place.scheme, place.bucket, above).uri), name)
