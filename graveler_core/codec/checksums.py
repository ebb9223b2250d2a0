"""Checksums of entries: text that names an algorithm, a colon and a digest. Only SHA-256 is computed."""

from __future__ import annotations

import re
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_SHA256: Final = "sha256:"
_PATTERN: Final = r"sha256:([0-9a-f]{64})"


def sha256_digest(checksum: str | None) -> str | None:
    """Return the hexadecimal digest in a checksum `sha256:<64 hex digits>`, or `None` for any other checksum.

    graveler computes such a checksum for everything that it uploads.
    """
    found = re.fullmatch(_PATTERN, checksum or "")
    return found[1] if found else None


def sha256_digests(checksums: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the hexadecimal digest in each checksum as `sha256_digest`, with nulls for any other checksum."""
    known = pc.fill_null(pc.match_substring_regex(checksums, rf"\A{_PATTERN}\z"), False)
    return pc.if_else(known, pc.utf8_slice_codeunits(checksums, len(_SHA256)), None)
