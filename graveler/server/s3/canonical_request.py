"""The canonical request of signature version 4: one form of a request, which the client signs and the server computes.

Source: Amazon S3 API reference, "Authenticating Requests (AWS Signature Version 4)". For S3, the path is encoded once
and not normalised.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Final
from urllib.parse import quote

from graveler.server.s3.request import S3Request

SIGNATURE_PARAMETER: Final = "X-Amz-Signature"


def canonical_request(request: S3Request, signed_headers: Sequence[str], payload: str) -> bytes:
    """Return the canonical request.

    Args:
        request: The request.
        signed_headers: Names of the signed headers in lower case, in the order that the client names.
        payload: Digest of the body in hex, or the word that stands for it.
    """
    headers = [name.encode("latin-1") + b":" + _value(request, name) for name in signed_headers]
    return b"\n".join(
        (
            request.method.encode(),
            quote(request.path, safe="/").encode(),
            _query(request.query),
            *headers,
            b"",
            ";".join(signed_headers).encode("latin-1"),
            payload.encode("latin-1"),
        )
    )


def digest_of(request: S3Request, signed_headers: Sequence[str], payload: str) -> str:
    """Return the SHA-256 of the canonical request, in hex."""
    return hashlib.sha256(canonical_request(request, signed_headers, payload)).hexdigest()


def _query(pairs: Iterable[tuple[str, str]]) -> bytes:
    encoded = sorted((quote(n, safe=""), quote(v, safe="")) for n, v in pairs if n != SIGNATURE_PARAMETER)
    return "&".join(f"{name}={value}" for name, value in encoded).encode()


def _value(request: S3Request, name: str) -> bytes:
    """Return the values of a header, without needless spaces, joined by commas."""
    return b",".join(b" ".join(value.split()) for each, value in request.headers if each == name)
