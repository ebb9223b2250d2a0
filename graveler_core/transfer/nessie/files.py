"""Files of an export: a ZIP archive in one object, or the objects of a directory.

An archive is copied to a temporary file on the local disk, because it is not read in order.
"""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import Protocol

from graveler_core.blobs.port import Blobs, BlobStores
from graveler_core.errors import CorruptData, InvalidInput, Kind, NotFound
from graveler_core.model.address import namespace
from graveler_core.transfer.files import TemporaryDump, dump_file
from graveler_core.transfer.nessie.messages import META_FILE
from graveler_core.transfer.varints import MAX_BYTES, unsigned

CHUNK_BYTES = 1 << 20
MAX_MESSAGE_BYTES = (1 << 31) - 1
"""Maximum size of a message of protobuf."""
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError)


class ExportFiles(Protocol):
    """Files of an export."""

    @property
    def uri(self) -> str:
        """URI of the export."""

    def chunks(self, name: str) -> Iterator[bytes]:
        """Yield a file in chunks.

        Raises:
            NotFound: There is no such file.
            CorruptData: The archive is damaged.
        """


@contextmanager
def open_files(blobs: BlobStores, uri: str) -> Iterator[ExportFiles]:
    """Open an export.

    Args:
        blobs: Object stores.
        uri: URI of an archive, or of a directory.

    Raises:
        InvalidInput: The URI is invalid.
        NotFound: There is no export.
        CorruptData: The object is not an archive.
    """
    file = None
    with suppress(InvalidInput):  # a bucket can be a directory, but not an object
        file = dump_file(blobs, uri)
    if file is None or file.blobs.head(file.address) is None:
        directory = DirectoryFiles(blobs.at(namespace(uri).uri), uri)
        if directory.blobs.head(META_FILE) is None:
            why = f"is neither a ZIP archive nor a directory with the file {META_FILE}"
            raise NotFound(f"export of Nessie {uri}: {why}", kind=Kind.ObjectNotFound, uri=uri)
        yield directory
        return
    with ExitStack() as opened:
        copy = TemporaryDump(opened.enter_context(TemporaryFile(buffering=0)))
        for chunk in file.blobs.chunks(file.address):
            copy.write(bytes(chunk))
        try:
            readable = opened.enter_context(io.BufferedReader(copy.file))
            archive = opened.enter_context(zipfile.ZipFile(readable))
        except _DAMAGED as e:
            raise broken_export(uri, f"is not a readable ZIP archive ({e})") from e
        yield ArchiveFiles(archive, uri)


@dataclass(frozen=True, slots=True)
class DirectoryFiles:
    """Export in a directory."""

    blobs: Blobs
    uri: str

    def chunks(self, name: str) -> Iterator[bytes]:
        if "/" in name or "\\" in name or name in ("", ".", ".."):
            raise broken_export(self.uri, f"names the file {name!r}, which is not directly in it")
        for chunk in self.blobs.chunks(name):
            yield bytes(chunk)


@dataclass(frozen=True, slots=True)
class ArchiveFiles:
    """Export in an archive."""

    archive: zipfile.ZipFile
    uri: str

    def chunks(self, name: str) -> Iterator[bytes]:
        try:
            with self.archive.open(name) as file:
                while chunk := file.read(CHUNK_BYTES):
                    yield chunk
        except KeyError as e:
            raise NotFound(f"file {name} in {self.uri} does not exist", kind=Kind.ObjectNotFound, uri=self.uri) from e
        except _DAMAGED as e:
            raise broken_export(self.uri, f"file {name} cannot be read ({e})") from e


def broken_export(uri: str, why: str) -> CorruptData:
    """Return the error for an export that is damaged or cannot be imported."""
    return CorruptData(f"export of Nessie {uri}: {why}", kind=Kind.CorruptDump, uri=uri)


def delimited(files: ExportFiles, name: str) -> Iterator[bytes]:
    """Yield the messages of a file. Each is preceded by its size.

    Raises:
        CorruptData: The file is missing, damaged or cut off.
    """
    data = _Bytes(_present(files, name))
    while head := data.take(1):
        while head[-1] & 0x80 and len(head) < MAX_BYTES and (more := data.take(1)):
            head += more
        try:
            size, _ = unsigned(head, 0)
        except ValueError as e:
            raise broken_export(files.uri, f"file {name}: {e}") from e
        message = data.take(size) if size <= MAX_MESSAGE_BYTES else b""
        if len(message) < size:
            raise broken_export(files.uri, f"file {name} is cut off, or a message in it is too large")
        yield message


def whole(files: ExportFiles, name: str) -> bytes:
    """Return the content of a file. Raises as `delimited` does."""
    return b"".join(_present(files, name))


def _present(files: ExportFiles, name: str) -> Iterator[bytes]:
    try:
        yield from files.chunks(name)
    except NotFound as e:
        raise broken_export(files.uri, f"file {name} is missing") from e


class _Bytes:
    """Bytes of a file, in order."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = b""
        self._at = 0

    def take(self, count: int) -> bytes:
        """Return the next `count` bytes, or fewer at the end."""
        parts: list[bytes] = []
        while count:
            if self._at == len(self._held):
                chunk = next(self._chunks, None)
                if chunk is None:
                    break
                self._held, self._at = chunk, 0
            part = self._held[self._at : self._at + count]
            self._at += len(part)
            count -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else b"".join(parts)


class NewFiles(Protocol):
    """Target of an export."""

    def add(self, name: str, content: bytes) -> None:
        """Write a file."""


@dataclass(frozen=True, slots=True)
class NewArchive:
    """New archive."""

    archive: zipfile.ZipFile

    def add(self, name: str, content: bytes) -> None:
        entry = zipfile.ZipInfo(name)
        entry.compress_type = zipfile.ZIP_DEFLATED
        self.archive.writestr(entry, content)


@dataclass(frozen=True, slots=True)
class NewDirectory:
    """New directory. Files that an interrupted export has left are replaced."""

    blobs: Blobs

    def add(self, name: str, content: bytes) -> None:
        if not self.blobs.create(name, content):
            self.blobs.delete(name)
            self.blobs.create(name, content)


class _Writable(io.RawIOBase):
    """Target of an archive that is written in order."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        self._write = write

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        self._write(bytes(data))
        return len(data)


@contextmanager
def new_archive(blobs: BlobStores, uri: str) -> Iterator[NewFiles]:
    """Open a new archive. It is stored when the `with` statement ends without an error.

    Raises:
        NotUnique: The object exists (`BlobExists`).
        Unavailable: The temporary file cannot be written.
    """
    with (
        dump_file(blobs, uri).created() as target,
        zipfile.ZipFile(_Writable(target.write), "w") as archive,
    ):
        yield NewArchive(archive)
