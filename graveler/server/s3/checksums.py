"""Checksums that clients send with content: `Content-MD5` and `x-amz-checksum-…`."""

from __future__ import annotations

import base64
import binascii
import hashlib
import zlib
from collections.abc import Callable
from typing import Final

from graveler.server.overlapped_hashing import RunningChecksum
from graveler.server.s3.crc import Crc
from graveler.server.s3.refusals import S3Refusal, invalid_argument

PREFIX: Final = "x-amz-checksum-"
SHA256: Final = "x-amz-checksum-sha256"
NO_VALUES: Final = ("x-amz-checksum-mode", "x-amz-checksum-algorithm", "x-amz-checksum-type")
"""Headers that begin with `PREFIX` but hold no checksum."""


class _Crc32:
    def __init__(self) -> None:
        self._value = 0

    def update(self, data: bytes, /) -> None:
        self._value = zlib.crc32(data, self._value)

    def digest(self) -> bytes:
        return self._value.to_bytes(4, "big")


_ALGORITHMS: Final[dict[str, Callable[[], RunningChecksum]]] = {
    "x-amz-checksum-crc32": _Crc32,
    "x-amz-checksum-crc32c": lambda: Crc(32),
    "x-amz-checksum-crc64nvme": lambda: Crc(64),
    "x-amz-checksum-sha1": lambda: hashlib.sha1(usedforsecurity=False),
    SHA256: hashlib.sha256,
}


def running(name: str) -> RunningChecksum:
    """Return a running checksum without data, for a header or a line of a trailer.

    Raises:
        S3Refusal: The algorithm is unknown.
    """
    made = _ALGORITHMS.get(name)
    if made is None:
        raise invalid_argument(f"{name[:60]}: must be one of {', '.join(_ALGORITHMS)}")
    return made()


def decoded(name: str, value: str, size: int) -> bytes:
    """Return the bytes of a checksum.

    Args:
        name: Name of the header.
        value: Checksum in base64.
        size: Number of bytes that it must have.

    Raises:
        S3Refusal: The value has another form.
    """
    try:
        found = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        found = b""
    if len(found) != size:
        raise S3Refusal(400, "InvalidDigest", f"{name}: must be {size} bytes in base64")
    return found
