"""The checksum of a whole object as the header that S3 clients compare, if they ask for it."""

from __future__ import annotations

import base64
from typing import Final

from graveler.server.s3.request import S3Request
from graveler_core.model.entry import Entry

_SHA256: Final = "sha256:"


def sha256_header(request: S3Request, entry: Entry) -> dict[str, str]:
    """Return the header with the SHA-256 of an entry, if the client compares checksums."""
    checksum = entry.checksum or ""
    if (request.header("x-amz-checksum-mode") or "").upper() != "ENABLED" or not checksum.startswith(_SHA256):
        return {}
    try:
        digest = bytes.fromhex(checksum.removeprefix(_SHA256))
    except ValueError:
        return {}
    return {"x-amz-checksum-sha256": base64.b64encode(digest).decode()} if len(digest) == 32 else {}
