"""Local directory as an object store, through system calls. POSIX only.

obstore is not used here. According to traces of version 0.12, its local store does not sync its writes, follows
symbolic links out of the directory, lists in no order, and leaves a file behind when an object is copied onto itself.

A write stores the bytes in a file under `.graveler-tmp/`, syncs the file, and links it to the object's name. The link
fails if the name is taken. Then the directory is synced. A crash leaves at worst an unlisted temporary file. With
`durable`, an object survives a power failure after any call of `create` or `upload` for it has returned. Every name
below the namespace is opened relative to its directory without following symbolic links, so no link leads out of the
namespace, even if names are replaced concurrently. The file system must support hard links.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from graveler_core.blobs.addresses import address_uri, checked_address, checked_prefix, checked_range
from graveler_core.blobs.failures import Verb, translating, unsigned
from graveler_core.blobs.local_listing import listed
from graveler_core.blobs.local_paths import file_chunks, file_info, opened_directory, opened_file, pread
from graveler_core.blobs.local_writing import LocalWriter
from graveler_core.blobs.port import CHUNK_BYTES, BlobInfo, Blobs, Data
from graveler_core.blobs.upload import UploadParts
from graveler_core.errors import NotUnique
from graveler_core.model.address import Namespace


class LocalBlobs(Blobs):
    """Object store in a directory, which is created with the first write."""

    def __init__(self, namespace: Namespace, durable: bool = True) -> None:
        self._namespace = namespace
        self._root = "/" + namespace.path
        self._writer = LocalWriter(self._root, durable)

    def __repr__(self) -> str:
        return f"LocalBlobs({self._namespace.uri!r})"

    def create(self, address: str, data: Data, *, sure: bool = False) -> bool:
        del sure  # no response is lost
        uri = self.uri(address)
        with translating(Verb.WRITE, uri):
            return self._writer.create(address, memoryview(data).cast("B"))

    def upload(self, address: str, parts: Iterable[Data]) -> None:
        source, uri = UploadParts(parts), self.uri(address)
        try:
            with translating(Verb.WRITE, uri):
                if not self._writer.upload(address, source):
                    raise NotUnique(f"{uri}: already exists", uri=uri)
        finally:
            source.raise_error()

    def read(self, address: str) -> bytes:
        uri = self.uri(address)
        with translating(Verb.READ, uri), opened_file(self._root, address) as fd:
            return pread(fd, 0, os.fstat(fd).st_size)

    def chunks(self, address: str) -> Iterator[Data]:
        with translating(Verb.READ, self.uri(address)), opened_file(self._root, address) as fd:
            yield from file_chunks(fd)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        checked_range(address, start, length)
        uri = self.uri(address)
        with translating(Verb.READ, uri), opened_file(self._root, address) as fd:
            return pread(fd, start, length)

    @property
    def range_bytes(self) -> int:
        return CHUNK_BYTES

    def head(self, address: str) -> BlobInfo | None:
        uri = self.uri(address)
        with translating(Verb.READ, uri):
            try:
                with opened_file(self._root, address) as fd:
                    return file_info(address, os.fstat(fd))
            except FileNotFoundError:
                return None

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """List as the port specifies. All names of a directory are read before its first object is returned."""
        checked_prefix(prefix)
        checked_prefix(after)
        with translating(Verb.LIST, self._namespace.uri):
            yield from listed(self._root, prefix, after)

    def delete(self, address: str) -> None:
        """Delete as the port specifies. Directories stay, because a writer may be about to use them."""
        *directories, name = checked_address(address).split("/")
        with translating(Verb.DELETE, self.uri(address)):
            try:
                with opened_file(self._root, address), opened_directory(self._root, directories) as directory:
                    os.unlink(name, dir_fd=directory)
            except FileNotFoundError:
                return

    def renew(self, address: str) -> bool:
        uri = self.uri(address)
        with translating(Verb.WRITE, uri):
            try:
                with opened_file(self._root, address) as fd:
                    os.utime(fd)
            except FileNotFoundError:
                return False
        return True

    def uri(self, address: str) -> str:
        return address_uri(self._namespace, address)

    def presigned(self, address: str, seconds: int, *, upload: bool = False) -> str:
        raise unsigned(self.uri(address))

    def close(self) -> None:
        """Do nothing, because no file stays open between calls."""
