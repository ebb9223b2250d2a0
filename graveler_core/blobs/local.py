"""A local directory as object store, by the operating system's own calls. POSIX.

Not through obstore, whose local store (0.12, traced) does not sync what it writes, follows symbolic links out of the
directory, lists in no order, and leaves a file behind when an object is copied onto itself.

Writing: the bytes go to a file under `.graveler-tmp/`, are synced, and get their name by `link`, which refuses a name
that is taken; then the directory is synced. So a crash leaves an unlisted temporary file at worst, and where `durable`
is set, an object that was acknowledged, or seen as existing, survives a power cut. Every name below the namespace is
opened from its directory without following symbolic links: no link leads out, whoever exchanges it when. The file
system must know hard links.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

from graveler_core.blobs.addresses import address_uri, checked_address, checked_prefix, checked_range
from graveler_core.blobs.failures import Verb, translating
from graveler_core.blobs.local_listing import listed
from graveler_core.blobs.local_paths import file_info, opened_directory, opened_file
from graveler_core.blobs.local_writing import LocalWriter
from graveler_core.blobs.port import BlobInfo, Data
from graveler_core.model.address import Namespace


class LocalBlobs:
    """`Blobs` in a directory, which is made at the first write."""

    def __init__(self, namespace: Namespace, durable: bool = True) -> None:
        self._namespace = namespace
        self._root = "/" + namespace.path
        self._writer = LocalWriter(self._root, durable)

    def __repr__(self) -> str:
        return f"LocalBlobs({self._namespace.uri!r})"

    def create(self, address: str, data: Data) -> bool:
        uri = self.uri(address)
        with translating(Verb.WRITE, uri):
            return self._writer.create(address, memoryview(data).cast("B"))

    def read(self, address: str) -> bytes:
        uri = self.uri(address)
        with translating(Verb.READ, uri), opened_file(self._root, address) as fd:
            return _read(fd, 0, os.fstat(fd).st_size)

    def read_range(self, address: str, start: int, length: int) -> bytes:
        checked_range(address, start, length)
        uri = self.uri(address)
        with translating(Verb.READ, uri), opened_file(self._root, address) as fd:
            return _read(fd, start, min(length, max(0, os.fstat(fd).st_size - start)))

    def head(self, address: str) -> BlobInfo | None:
        uri = self.uri(address)
        with translating(Verb.READ, uri):
            try:
                with opened_file(self._root, address) as fd:
                    return file_info(address, os.fstat(fd))
            except FileNotFoundError:
                return None

    def list(self, prefix: str = "", after: str = "") -> Iterator[BlobInfo]:
        """As the port says. Directories are read whole: one name each, before their first object is given."""
        checked_prefix(prefix)
        checked_prefix(after)
        with translating(Verb.LIST, self._namespace.uri):
            yield from listed(self._root, prefix, after)

    def delete(self, address: str) -> None:
        """As the port says. Directories stay: removing one could take it from under a writer."""
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

    def close(self) -> None:
        """Nothing to do: no file stays open between calls."""


def _read(fd: int, start: int, length: int) -> bytes:
    pieces = []
    while length > 0:
        piece = os.pread(fd, length, start)
        if not piece:
            break
        pieces.append(piece)
        start += len(piece)
        length -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)
