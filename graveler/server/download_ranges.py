"""Content of a download, in ranges that are smaller if many downloads run.

A download holds up to three ranges: the one that is sent, the next one, and the one after it. A client that reads
slowly holds them for long. Large ranges are faster, so the first downloads get them. Of the further ones, there may be
as many as connections.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from graveler.server.overlapped_hashing import DownloadHashing
from graveler_core.facade.content_file import ContentFile

MAX_LARGE: Final = 64
"""Number of downloads of a process that read ranges of the length that suits the object store."""
SMALL_RANGE_BYTES: Final = 1 << 20
"""Maximum length of the ranges of further downloads."""
_large: set[object] = set()


def ranges_of(content: ContentFile, part: tuple[int, int] | None, *, verify: bool) -> Iterator[bytes]:
    """Yield content, or a range of it. The length of its ranges is chosen when the first one is read.

    Args:
        content: The content.
        part: First and last position of the range, or `None` for the whole content.
        verify: Compare whole content with its checksum.
    """
    download = object()
    most: int | None = SMALL_RANGE_BYTES
    if len(_large) < MAX_LARGE:  # without a lock: the garbage collector may end a download at any moment
        _large.add(download)
        most = None
    try:
        if part is None:
            yield from content.chunks(verify=verify, digest=DownloadHashing(), most=most)
        else:
            yield from content.ranges(part[0], part[1] + 1, most)
    finally:
        _large.discard(download)
