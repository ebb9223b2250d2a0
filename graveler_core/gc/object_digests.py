"""SHA-256 digests of stored objects, read in ranges, so that memory is bounded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Final

from graveler_core.blobs.port import Blobs, Foreign
from graveler_core.blobs.unreadable import is_unreadable
from graveler_core.errors import NotFound, Unavailable

CHUNK_BYTES: Final = 8 << 20
"""Bytes that one request reads."""


def sha256_of(objects: Blobs | Foreign, key: str, size: int) -> str | Unavailable | None:
    """Return the digest of the first `size` bytes of an object in hexadecimal digits. The digest covers fewer bytes if
    the object has become shorter.

    Returns:
        The digest, `None` if the object does not exist, or the error if only this object cannot be read.
    """
    digest = hashlib.sha256()
    try:
        for chunk in _chunks(objects, key, size):
            digest.update(chunk)
    except NotFound:
        return None
    except Unavailable as e:
        if not is_unreadable(e):
            raise
        return e
    return digest.hexdigest()


def _chunks(objects: Blobs | Foreign, key: str, size: int) -> Iterator[bytes]:
    for start in range(0, size, CHUNK_BYTES):
        yield objects.read_range(key, start, min(CHUNK_BYTES, size - start))
