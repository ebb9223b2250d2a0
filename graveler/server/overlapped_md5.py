"""MD5 of content that passes by. It is computed in a thread of its own.

Clients of lakeFS and of S3 expect it as checksum or ETag. It is the slowest part of an upload, so it is computed while
the next block is received and the last one is sent to the object store.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Final

BLOCK_BYTES: Final = 1 << 20
"""Bytes that are hashed at once."""
_HASHING: Final = ThreadPoolExecutor(thread_name_prefix="graveler-md5")


class OverlappedMd5:
    """MD5 that is computed in another thread. At most one block waits."""

    def __init__(self) -> None:
        self._digest = hashlib.md5(usedforsecurity=False)
        self._pending: Future[None] | None = None

    def update(self, block: bytes) -> None:
        """Add a block, after the one before was added."""
        self._wait()
        if len(block) < BLOCK_BYTES:  # the end, or a small object
            self._digest.update(block)
        else:
            self._pending = _HASHING.submit(self._digest.update, block)

    def digest(self) -> bytes:
        """Return the MD5 of all blocks."""
        self._wait()
        return self._digest.digest()

    def passing(self, pieces: Iterable[bytes]) -> Iterator[bytes]:
        """Yield content in blocks, and add them."""
        for block in blocks(pieces):
            self.update(block)
            yield block

    def _wait(self) -> None:
        if self._pending is not None:
            self._pending.result()
            self._pending = None


def blocks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks of `BLOCK_BYTES` made from pieces of any size; the last one may be shorter."""
    waiting = bytearray()
    for piece in pieces:
        waiting += piece
        while len(waiting) >= BLOCK_BYTES:
            yield bytes(waiting[:BLOCK_BYTES])
            del waiting[:BLOCK_BYTES]
    if waiting:
        yield bytes(waiting)
