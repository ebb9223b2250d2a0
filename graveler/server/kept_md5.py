"""MD5 of an entry's content, which the server keeps in the metadata of entries that it uploads.

Clients expect it as checksum and ETag. The metadata also hold the beginning of the entry's checksum. If somebody stages
other content with the same metadata, this beginning differs from the checksum of the new entry, and the MD5 is not
used.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from graveler_core.model.entry import Entry

ETAG_KEY: Final = "graveler-s3-etag"
_KEPT: Final = re.compile(r"[0-9A-Za-z-]+")
_MD5: Final = re.compile(r"[0-9a-f]{32}")


def kept_etag(entry: Entry) -> str | None:
    """Return the kept MD5 of an entry, or `<MD5 of the MD5s>-<number>` of a multipart upload; `None` without one."""
    text = entry.metadata.get(ETAG_KEY)
    if text is None:
        return None
    kept, _, checksum = text.partition(" ")
    return kept if _KEPT.fullmatch(kept) and checksum and (entry.checksum or "").startswith(checksum) else None


def with_etag(entry: Entry, etag: str) -> Entry:
    """Return an entry that keeps an MD5 of its content."""
    return replace(entry, metadata=metadata_with_etag(entry.metadata, etag, entry.checksum or ""))


def metadata_with_etag(metadata: Mapping[str, str], etag: str, checksum: str) -> dict[str, str]:
    """Return the metadata of an entry that keeps an MD5 of its content.

    Args:
        metadata: Other metadata of the entry.
        etag: The MD5, or that of the parts.
        checksum: Checksum of the entry.
    """
    return {**metadata, ETAG_KEY: f"{etag} {checksum[:39]}"}  # the name of the algorithm and 128 bits


def etag_of_parts(md5s: Sequence[str]) -> str | None:
    """Return the ETag that S3 gives an object of parts: the MD5 of their MD5s, and their number.

    Args:
        md5s: MD5s of the parts in their order, in hexadecimal digits.

    Returns:
        The ETag, or `None` if one of the texts is not an MD5.
    """
    if not all(_MD5.fullmatch(md5) for md5 in md5s):
        return None
    digests = b"".join(bytes.fromhex(md5) for md5 in md5s)
    return f"{hashlib.md5(digests, usedforsecurity=False).hexdigest()}-{len(md5s)}"


def shown_checksum(entry: Entry) -> str:
    """Return the checksum that clients of the API see: the kept MD5, else the entry's without its algorithm."""
    kept = kept_etag(entry)
    return (entry.checksum or "").rpartition(":")[2] if kept is None else kept.partition("-")[0]


def shown_metadata(entry: Entry) -> dict[str, str]:
    """Return the metadata of an entry without the kept MD5."""
    if len(entry.metadata) == 1 and ETAG_KEY in entry.metadata:  # most entries of listings
        return {}
    return {key: value for key, value in entry.metadata.items() if key != ETAG_KEY}
