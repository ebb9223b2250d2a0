"""Checksums of content that is uploaded or downloaded. They are computed in another thread.

Clients of lakeFS and of S3 expect an MD5 as checksum or ETag, and may announce further checksums. They are the slowest
part of an upload, so they are computed while the next blocks are received and sent to the object store. The SHA-256 of
a download is computed while the content is sent and the next block is read.
"""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Condition
from typing import Final, Protocol

from graveler_core.codec.blocks import blocks

BLOCK_BYTES: Final = 8 << 20
"""Size of the blocks of an upload. The library sends as many bytes to an object store at once, so it copies none."""
AT_ONCE_BYTES: Final = 256 << 10
"""Size below which a block is hashed in the thread that adds it, because handing it to another thread costs more."""
MAX_WAITING: Final = 1
"""Maximum number of blocks of one content that wait while another one is hashed."""
_HASHING: Final = ThreadPoolExecutor(thread_name_prefix="graveler-hashing")


class RunningChecksum(Protocol):
    """Checksum of the data so far."""

    def update(self, data: bytes, /) -> None:
        """Add data."""

    def digest(self) -> bytes:
        """Return the checksum of the data so far."""


class OverlappedHashing:
    """Checksums of one content. Give it blocks in one thread."""

    def __init__(self, checksums: Sequence[RunningChecksum]) -> None:
        """Prepare the checksums, without data.

        Args:
            checksums: The checksums to compute. They are complete after `finish`.
        """
        self._checksums = checksums
        self._waiting: deque[bytes] = deque()
        self._changed = Condition()
        self._hashing = False
        self._error: BaseException | None = None

    def update(self, block: bytes) -> None:
        """Add a block. Wait if too many blocks wait already."""
        with self._changed:
            self._changed.wait_for(lambda: len(self._waiting) < MAX_WAITING)
            at_once = not self._hashing and len(block) < AT_ONCE_BYTES
            if not at_once:
                self._waiting.append(block)
            begins, self._hashing = not self._hashing and not at_once, self._hashing or not at_once
        if at_once:
            self._add(block)
        elif begins:
            _HASHING.submit(self._work)

    def finish(self) -> None:
        """Wait until all blocks are hashed. Raise the error of a checksum, if there was one."""
        with self._changed:
            self._changed.wait_for(lambda: not self._hashing)
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        """Add blocks until none waits."""
        try:
            while (block := self._next()) is not None:
                self._add(block)
        except BaseException as error:
            with self._changed:
                self._error, self._hashing = error, False
                self._waiting.clear()
                self._changed.notify()
            raise

    def _next(self) -> bytes | None:
        with self._changed:
            block = self._waiting.popleft() if self._waiting else None
            self._hashing = block is not None
            self._changed.notify()
        return block

    def _add(self, block: bytes) -> None:
        for checksum in self._checksums:
            checksum.update(block)


class UploadHashing(OverlappedHashing):
    """MD5 and other checksums of content that is uploaded."""

    def __init__(self, also: Sequence[RunningChecksum] = ()) -> None:
        """Prepare the checksums, without data.

        Args:
            also: Further checksums to compute. They are complete after `md5`.
        """
        self._md5 = hashlib.md5(usedforsecurity=False)
        super().__init__((self._md5, *also))

    def md5(self) -> bytes:
        """Return the MD5 of all blocks."""
        self.finish()
        return self._md5.digest()

    def passing(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield content in blocks, and add them."""
        for block in blocks(pieces, BLOCK_BYTES):
            self.update(block)
            yield block


class DownloadHashing(OverlappedHashing):
    """SHA-256 of content that is downloaded, as a digest for `ContentFile.chunks`."""

    def __init__(self) -> None:
        """Prepare the SHA-256, without data."""
        self._sha256 = hashlib.sha256()
        super().__init__((self._sha256,))

    def hexdigest(self) -> str:
        """Return the SHA-256 of all blocks, in hexadecimal digits."""
        self.finish()
        return self._sha256.hexdigest()
