"""Metadata that the gateway keeps with an entry: its ETag, headers, and the metadata of the user.

The ETag of an upload is the MD5 of its content, which clients expect: see `kept_md5`. Without a kept MD5, the ETag is
made from the entry's checksum or identity, in a form that no client takes for an MD5.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.utils import format_datetime
from typing import Final

from graveler.server.header_values import header_text, header_value
from graveler.server.kept_md5 import kept_etag, with_etag
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request
from graveler_core.model.entry import Entry

DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"
MAX_METADATA_BYTES: Final = 2_048
MAX_ENCODED_CHARACTERS: Final = 8_192
"""Maximum length of a header that is decoded. Encoded words need less than four characters for each byte."""
_USER_HEADER: Final = "x-amz-meta-"
_USER_KEY: Final = "X-Amz-Meta-"
"""Beginning of the keys of a user's metadata, as lakeFS stores them."""
_KEPT_HEADERS: Final = ("Cache-Control", "Content-Disposition", "Content-Encoding", "Content-Language", "Expires")
"""Headers of an upload that are kept under their own names, and sent with the content."""
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")


def etag_of(entry: Entry) -> str:
    """Return the ETag of an entry, without quotes."""
    kept = kept_etag(entry)
    if kept is not None:
        return kept
    found = (entry.checksum or "").rpartition(":")[2] or entry.identity.hex()
    return f"{re.sub('[^0-9A-Za-z]', '', found)[:32]}-1"


def metadata_of(request: S3Request) -> dict[str, str]:
    """Return the metadata of an entry from the headers of its upload.

    Raises:
        S3Refusal: The metadata of the user are too large.
    """
    found: dict[str, str] = {}
    for name in {name for name, _ in request.headers if name.startswith(_USER_HEADER)}:
        found[_USER_KEY + name.removeprefix(_USER_HEADER)] = _read(request.header(name) or "")
    if sum(len(key.removeprefix(_USER_KEY)) + len(value.encode()) for key, value in found.items()) > MAX_METADATA_BYTES:
        raise S3Refusal(400, "MetadataTooLarge", f"x-amz-meta-…: must have at most {MAX_METADATA_BYTES:,} bytes")
    for name in _KEPT_HEADERS:
        value = request.header(name.lower()) or ""
        if name == "Content-Encoding":  # aws-chunked describes the transfer, not the content
            parts = (part.strip() for part in value.split(","))
            value = ", ".join(part for part in parts if part and part.lower() != "aws-chunked")
        if value:
            found[name] = _read(value)
    return found


def headers_of(entry: Entry) -> dict[str, str]:
    """Return the headers that describe an entry.

    A browser may show content of users at the address of the server. The headers prevent scripts in the content.
    """
    found = {
        "etag": f'"{etag_of(entry)}"',
        "content-type": header_value(entry.content_type or DEFAULT_CONTENT_TYPE),
        "accept-ranges": "bytes",
        "content-security-policy": "default-src 'none'; sandbox",
        "last-modified": format_datetime(modified(entry), usegmt=True),
    }
    missing = 0
    for key, value in entry.metadata.items():
        if key in _KEPT_HEADERS:
            found[key.lower()] = header_value(value)
        elif key.startswith(_USER_KEY):
            name = key.removeprefix(_USER_KEY).lower()
            if _TOKEN.fullmatch(name):
                found[_USER_HEADER + name] = header_value(value)
            else:
                missing += 1
    if missing:
        found["x-amz-missing-meta"] = str(missing)
    return found


def modified(entry: Entry) -> datetime:
    """Return the time of the last change of an entry. If it has no such time, return the beginning of 1970."""
    return (entry.mtime or datetime.fromtimestamp(0, UTC)).astimezone(UTC)


def time_of_document(moment: datetime) -> str:
    """Return a time as documents of S3 have it."""
    return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def for_copy(source: Entry, replaced: Mapping[str, str] | None, content_type: str | None) -> Entry:
    """Return the entry of a copy.

    Args:
        source: The entry to copy.
        replaced: Metadata instead of those of the source; `None` keeps them.
        content_type: Content type, if the metadata are replaced.
    """
    if replaced is None:
        return replace(source, mtime=datetime.now(UTC))
    made = replace(source, mtime=datetime.now(UTC), metadata=dict(replaced), content_type=content_type)
    return with_etag(made, etag_of(source))


def _read(value: str) -> str:
    """Return the text of a header: UTF-8, or words encoded as RFC 2047 says.

    `decode_header` searches the end of each word that begins, so words without an end stay as they are. Otherwise it
    would need quadratic time. So would some encodings, which is why long texts stay as they are too.
    """
    text = header_text(value)
    end = text.rfind("?=")
    if "=?" not in text[: max(end, 0)] or len(text) > MAX_ENCODED_CHARACTERS or len(text.splitlines()) > 1:
        return text
    endless = text.find("=?", end + 2)
    words, rest = (text, "") if endless < 0 else (text[:endless], text[endless:])
    try:
        return str(make_header(decode_header(words))) + rest
    except (HeaderParseError, UnicodeError, LookupError, ValueError):
        return text
