"""Answers with the content of an entry: whole, or one range of it, streamed in bounded memory.

Small content is read before the answer begins, so that damaged content is answered with an error. The first chunk of
larger content is read before the answer begins too, so that content that cannot be read is answered with an error. If
larger content is sent whole, its last chunk is sent only after the checksum was compared. A client of damaged content
therefore receives less than the announced length, and knows that the transfer has failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from email.utils import format_datetime
from itertools import chain
from typing import Final

from starlette.responses import Response

from graveler.server.content_stream import ContentStream
from graveler.server.download_ranges import ranges_of
from graveler.server.entity_tags import names_tag, range_of
from graveler.server.header_values import header_value
from graveler.server.kept_md5 import shown_checksum
from graveler.server.refusals import refusal
from graveler_core.facade.content_file import ContentFile
from graveler_core.model.entry import Entry

SMALL_BYTES: Final = 1 << 20
"""Size up to which content is read before the answer begins."""
_RANGE: Final = re.compile(r"bytes=([0-9]*)-([0-9]*)")
_TAG: Final = re.compile(r"[!#-~]+")
_INLINE: Final = re.compile(
    r"(?:text/plain|text/csv|application/json|image/png|image/jpeg|image/gif)(?:; ?charset=[\w-]+)?",
    re.ASCII | re.IGNORECASE,
)
"""Content types that a browser may show. It saves content of other types, so that it never runs as a page.

The whole header must match, because a browser may take another type that follows a comma.
"""


class UnsatisfiableRange(Exception):
    """The requested range begins after the end of the content, or several ranges are requested."""


def content_response(content: ContentFile, headers: Mapping[str, str], *, without_body: bool = False) -> Response:
    """Answer with content.

    Args:
        content: The content.
        headers: Headers of the request, with names in lower case. Only `range`, `if-range`, `if-match` and
            `if-none-match` are used.
        without_body: Answer with the headers only.
    """
    tag = etag(content.entry)
    match = headers.get("if-match")
    if match is not None and not names_tag(match, tag, strong=True):
        return refusal(412, "the content is not the one that If-Match names")
    if names_tag(headers.get("if-none-match", ""), tag):
        return Response(status_code=304, headers={"etag": tag})
    found = {**_headers(content.entry), "etag": tag, "accept-ranges": "bytes"}
    try:
        part = content_range(range_of(headers.get, tag), content.size)
    except UnsatisfiableRange:
        message = "the range begins behind the end of the object, or is not one range"
        return refusal(416, message, **{"content-range": f"bytes */{content.size}"})
    return body_response(content, part, found, without_body=without_body)


def body_response(
    content: ContentFile,
    part: tuple[int, int] | None,
    headers: dict[str, str],
    *,
    without_body: bool = False,
    verify: bool = True,
) -> Response:
    """Answer with content or a range of it.

    Args:
        content: The content.
        part: First and last position of the range, or `None` for the whole content.
        headers: Headers that describe the content. Those about its length are added.
        without_body: Answer with the headers only.
        verify: Compare whole content with its checksum.

    Raises:
        GravelerError: The content cannot be read, or is small and damaged.
    """
    first, last = part or (0, content.size - 1)
    length, status = last + 1 - first, 200 if part is None else 206
    headers["content-length"] = str(length)
    if part is not None:
        headers["content-range"] = f"bytes {first}-{last}/{content.size}"
    if without_body:
        return Response(status_code=status, headers=headers)
    chunks = ranges_of(content, part, verify=verify)
    if length <= SMALL_BYTES:
        return Response(b"".join(chunks), status, headers)
    beginning = next(chunks, b"")
    return ContentStream(_last_after_end(chain((beginning,), chunks)), status, headers)


def etag(entry: Entry) -> str:
    """Return the ETag of an entry: the checksum that clients see, or the identity if no header can hold it."""
    checksum = shown_checksum(entry)
    return f'"{checksum if _TAG.fullmatch(checksum) else entry.identity.hex()}"'


def _headers(entry: Entry) -> dict[str, str]:
    kind = header_value(entry.content_type or "application/octet-stream")
    found = {
        "content-type": kind,
        "content-disposition": "inline" if _INLINE.fullmatch(kind) else "attachment",
        "cache-control": "no-store, must-revalidate",
        "expires": "0",
        "x-frame-options": "SAMEORIGIN",
        "content-security-policy": "default-src 'none'; sandbox",
    }
    if entry.mtime is not None:
        found["last-modified"] = format_datetime(entry.mtime, usegmt=True)
    return found


def content_range(header: str | None, size: int) -> tuple[int, int] | None:
    """Return the first and the last position of the requested range, or `None` for the whole content.

    A header in another form, or with an end before the beginning, is ignored, as HTTP requires.

    Raises:
        UnsatisfiableRange: The range begins after the end, or there are several.
    """
    if header is None:
        return None
    if "," in header:
        raise UnsatisfiableRange
    found = _RANGE.fullmatch(header.strip())
    if found is None or found.groups() == ("", ""):
        return None
    begin, end = found.groups()
    if begin and end and _position(end) < _position(begin):
        return None
    if not begin:
        first, last = max(0, size - _position(end)), size - 1
    else:
        first, last = _position(begin), min(_position(end), size - 1) if end else size - 1
    if first >= size or first > last:
        raise UnsatisfiableRange
    return first, last


def _position(digits: str) -> int:
    """Return a position in a content. One with more digits than that of any content counts as one after the end.

    Some clients, such as the AWS SDK for Java, give the greatest 64-bit number for the end.
    """
    return int(digits.lstrip("0")[:19] or "0")


def _last_after_end(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """Yield chunks, and the last one after the iterator has ended without an error."""
    held = b""
    for chunk in chunks:
        if held:
            yield held
        held = chunk
    yield held
