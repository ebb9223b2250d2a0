"""Answers with the content of an entry: whole, or one range of it, streamed in bounded memory.

The last part of a whole content is sent after its checksum was compared. A client of damaged content therefore receives
less than the announced length, and knows that the transfer has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from email.utils import format_datetime
from typing import Final

from starlette.responses import Response

from graveler.server.content_stream import ContentStream
from graveler.server.kept_md5 import shown_checksum
from graveler_core.facade.content_file import ContentFile
from graveler_core.model.entry import Entry

CHUNK_BYTES: Final = 1 << 20
"""Bytes of a range that are read and sent at once."""
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)")
_INLINE_TYPES: Final = ("text/plain", "text/csv", "application/json", "image/png", "image/jpeg", "image/gif")
"""Content types that a browser may show. It saves all others, so that content of users never runs as a page."""


class UnsatisfiableRange(Exception):
    """The requested range begins behind the end of the content."""


def content_response(content: ContentFile, headers: Mapping[str, str], *, without_body: bool = False) -> Response:
    """Answer with content.

    Args:
        content: The content.
        headers: Headers of the request, with names in lower case: `range` and `if-none-match` count.
        without_body: Answer with the headers only.
    """
    tag = etag(content.entry)
    if headers.get("if-none-match") == tag:
        return Response(status_code=304)
    found = {**_headers(content.entry), "etag": tag, "accept-ranges": "bytes"}
    try:
        part = content_range(headers.get("range"), content.size)
    except UnsatisfiableRange:
        return Response(status_code=416, headers={"content-range": f"bytes */{content.size}"})
    if part is None:
        found["content-length"] = str(content.size)
        chunks: Iterable[bytes] = verified_chunks(content)
    else:
        first, last = part
        found["content-length"] = str(last + 1 - first)
        found["content-range"] = f"bytes {first}-{last}/{content.size}"
        chunks = range_chunks(content, first, last + 1)
    status = 200 if part is None else 206
    if without_body:
        return Response(status_code=status, headers=found)
    return ContentStream(chunks, status, found)


def etag(entry: Entry) -> str:
    """Return the ETag of an entry: the checksum that clients see, in quotes."""
    return f'"{shown_checksum(entry)}"'


def _headers(entry: Entry) -> dict[str, str]:
    kind = entry.content_type or "application/octet-stream"
    shown = kind.partition(";")[0].strip().lower() in _INLINE_TYPES
    found = {
        "content-type": kind,
        "content-disposition": "inline" if shown else "attachment",
        "cache-control": "no-store, must-revalidate",
        "expires": "0",
        "x-frame-options": "SAMEORIGIN",
        "content-security-policy": "default-src 'none'",
    }
    if entry.mtime is not None:
        found["last-modified"] = format_datetime(entry.mtime, usegmt=True)
    return found


def content_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and the last position of the requested range, or `None` for the whole content.

    A header in another form is ignored, as HTTP asks for.

    Raises:
        UnsatisfiableRange: The range begins behind the end, or there are several.
    """
    if header is None:
        return None
    if "," in header:
        raise UnsatisfiableRange
    found = _RANGE.fullmatch(header.strip())
    if found is None or found.groups() == ("", ""):
        return None
    begin, end = found.groups()
    if not begin:
        first, last = max(0, size - int(end)), size - 1
    else:
        first, last = int(begin), min(int(end), size - 1) if end else size - 1
    if first >= size or first > last:
        raise UnsatisfiableRange
    return first, last


def range_chunks(content: ContentFile, start: int, end: int) -> Iterator[bytes]:
    """Yield a range of a content."""
    for position in range(start, end, CHUNK_BYTES):
        yield content.read_range(position, min(CHUNK_BYTES, end - position))


def verified_chunks(content: ContentFile) -> Iterator[bytes]:
    """Yield the whole content. The last part is yielded after the checksum was compared."""
    held = b""
    for chunk in content.chunks():
        if held:
            yield held
        held = chunk
    yield held
