"""Content of an entry as a file of the standard library's `io`."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from graveler_core.engine.reading.content import RunningDigest, StoredContent
from graveler_core.errors import InvalidInput
from graveler_core.model.entry import Entry

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer


class ContentFile(io.RawIOBase):
    """Content of an entry, opened for reading. Each read transfers one range. Not thread-safe, except `read_range`."""

    def __init__(self, stored: StoredContent) -> None:
        self._stored = stored
        self._position = 0
        self.name = stored.entry.path

    @property
    def entry(self) -> Entry:
        """The entry whose content this is."""
        return self._stored.entry

    @property
    def size(self) -> int:
        """Size of the content in bytes."""
        data = self._stored.entry.data
        return self._stored.entry.size if data is None else len(data)

    def reopened(self) -> ContentFile:
        """Return another file of the same content, at its beginning."""
        return ContentFile(self._stored)

    def read_range(self, start: int, length: int) -> bytes:
        """Return at most `length` bytes from `start`, regardless of the position. Thread-safe.

        Raises:
            InvalidInput: A number is negative.
            NotFound: (`ObjectNotFound`) the object does not exist.
            CorruptData: the object is shorter than the entry says.
        """
        return self._stored.read_range(start, length)

    def chunks(
        self, *, verify: bool = True, digest: RunningDigest | None = None, most: int | None = None
    ) -> Iterator[bytes]:
        """Yield the whole content in large ranges, regardless of the position.

        Args:
            verify: Compare the content with the checksum of the entry, after the last range.
            digest: Computes the SHA-256, for example in another thread. By default, `hashlib.sha256()`.
            most: As for `ranges`.

        Raises:
            NotFound: (`ObjectNotFound`) the object does not exist.
            CorruptData: the object is not the one that was stored.
        """
        return self._stored.chunks(verify=verify, digest=digest, most=most)

    def ranges(self, start: int, end: int, most: int | None = None) -> Iterator[bytes]:
        """Yield the content between two positions in large ranges, regardless of the position. Nothing is verified.

        Args:
            start: First position.
            end: Position after the last one.
            most: Maximum length of a range. By default, the length suits the object store.

        Raises:
            NotFound: (`ObjectNotFound`) the object does not exist.
            CorruptData: the object is shorter than the entry says.
        """
        return self._stored.ranges(start, end, most)

    def readable(self) -> bool:
        """Return true."""
        return True

    def seekable(self) -> bool:
        """Return true."""
        return True

    def tell(self) -> int:
        """Return the position in bytes."""
        self._require_open()
        return self._position

    def seek(self, offset: int, whence: int = os.SEEK_SET, /) -> int:
        """Set the position, and return it."""
        self._require_open()
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._position, os.SEEK_END: self.size}.get(whence)
        if base is None:
            raise InvalidInput(f"whence {whence!r}: must be 0, 1 or 2")
        if base + offset < 0:
            raise InvalidInput(f"offset {offset}: the position must not be negative")
        self._position = base + offset
        return self._position

    def readinto(self, buffer: WriteableBuffer, /) -> int:
        """Read into a buffer, and return the number of bytes; 0 at the end."""
        self._require_open()
        view = memoryview(buffer).cast("B")
        content = self._stored.read_range(self._position, len(view))
        view[: len(content)] = content
        self._position += len(content)
        return len(content)

    def readall(self) -> bytes:
        """Return everything from the position to the end, by one request."""
        self._require_open()
        content = self._stored.read_range(self._position, max(0, self.size - self._position))
        self._position += len(content)
        return content

    def _require_open(self) -> None:
        if self.closed:
            raise ValueError("I/O operation on a closed file")
