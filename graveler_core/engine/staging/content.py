"""Content of new entries: bytes, files and iterators of bytes, uploaded in bounded memory.

Content that fits in one part is created by one request, which the store repeats if its response is lost. Larger
content is uploaded in parts. The checksum is computed on the way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from typing import BinaryIO, Final, TypeAlias, cast

from graveler_core.blobs.port import Blobs, Data
from graveler_core.codec.blocks import blocks
from graveler_core.errors import GravelerError, InvalidInput, Kind, OutcomeUnknown, Unavailable

PART_BYTES: Final = 8 << 20
"""Bytes of content that are read at once. Content of at most this size is created by one request."""
ContentSource: TypeAlias = Data | BinaryIO | Iterable[bytes]
"""Content to upload: bytes, a binary file that is read from its position to its end, or an iterable of bytes."""

MetadataSource: TypeAlias = Mapping[str, str] | Callable[[str], Mapping[str, str]]
"""Metadata of an entry; or a function that returns them for the checksum of the content, after it was read."""


@dataclass(slots=True)
class Content:
    """Content to upload, with its content type and metadata.

    Bytes and files that can seek can be uploaded several times, other sources once. So can a file with `checksum`: the
    function may depend on what was read.
    """

    source: ContentSource
    content_type: str | None = None
    metadata: MetadataSource | None = None
    checksum: Callable[[], str] | None = None
    """Returns the checksum after the content was read. By default, the SHA-256 is computed."""
    failure: GravelerError | None = field(default=None, init=False)
    """Error that ended an upload of the content."""
    _begun: bool = field(default=False, init=False)
    _start: int | None = field(default=None, init=False)
    """Position at which the content of a file begins that can be read again."""

    def __post_init__(self) -> None:
        if isinstance(self.source, str) or not (hasattr(self.source, "read") or isinstance(self.source, Iterable)):
            raise _wrong("content", self.source)

    def repeatable(self) -> bool:
        """Return true if the content can be uploaded now."""
        return not self._begun or self._start is not None or isinstance(self.source, bytes | bytearray | memoryview)

    def parts(self) -> Iterator[Data]:
        """Yield the content in parts of `PART_BYTES`; the last one may be shorter. Empty content has no part."""
        self._begun = True
        if isinstance(self.source, bytes | bytearray | memoryview):
            yield from _slices(memoryview(self.source).cast("B"))
        elif hasattr(self.source, "read"):
            file = cast(BinaryIO, self.source)
            self._rewind(file)
            yield from blocks(iter(lambda: _checked(file.read(PART_BYTES)), b""), PART_BYTES)
        else:
            yield from blocks(map(_checked, self.source), PART_BYTES)

    def _rewind(self, file: BinaryIO) -> None:
        """Note the position of a file that can be read again or, if it was noted before, return to it."""
        if self._start is not None:
            file.seek(self._start)
        elif self.checksum is None and hasattr(file, "seekable") and file.seekable():
            self._start = file.tell()


@dataclass(frozen=True, slots=True)
class UploadedContent:
    """Result of an upload."""

    address: str
    size: int
    checksum: str


def upload(blobs: Blobs, address: str, content: Content) -> UploadedContent:
    """Store content at an address that no other call uses.

    Raises:
        InvalidInput: The source returned something else than bytes. Nothing refers to what was stored.
        Unavailable: The store did not acknowledge the upload.
    """
    digest, size = hashlib.sha256(), 0
    hashed = content.checksum is None

    def measured(parts: Iterable[Data]) -> Iterator[Data]:
        nonlocal size
        for part in parts:
            if hashed:
                digest.update(part)
            size += len(part)
            yield part

    parts = measured(content.parts())
    first = next(parts, b"")
    try:
        second = next(parts, None)
        if second is None:
            blobs.create(address, first)
        else:
            blobs.upload(address, chain((first, second), parts))
    except OutcomeUnknown as e:
        raise Unavailable(f"upload failed, nothing is staged: {e.message}", kind=Kind.StoreUnreachable) from e
    checksum = f"sha256:{digest.hexdigest()}" if content.checksum is None else content.checksum()
    return UploadedContent(address, size, checksum)


def _slices(content: memoryview) -> Iterator[memoryview]:
    for start in range(0, len(content), PART_BYTES):
        yield content[start : start + PART_BYTES]


def _checked(piece: object) -> bytes:
    if not isinstance(piece, bytes | bytearray | memoryview):
        raise _wrong("part of content", piece)
    return bytes(piece)


def _wrong(what: str, value: object) -> InvalidInput:
    return InvalidInput(
        f"{what} of type {type(value).__name__}: must be bytes, a file opened in binary mode, or an iterable of bytes"
    )
