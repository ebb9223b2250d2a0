"""Signature version 2 of a request, for old clients: reading it from the header or the query, and verifying it.

It covers the method, the path, the headers `x-amz-…`, `Content-Type` and `Content-MD5`, the time, and the sub-resources
in the query. It covers neither the host, nor the content, nor other parameters, so a server accepts it only if its
options allow it.

Source: Amazon S3 developer guide, "Signing and authenticating REST requests (signature version 2)".
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request
from graveler.server.s3.signature import MAX_PRESIGNED_SECONDS, MAX_SKEW, carries_v4, does_not_match

_SCHEME: Final = "AWS "
_SIGNED_PARAMETERS: Final = frozenset(
    {
        "accelerate",
        "acl",
        "analytics",
        "cors",
        "delete",
        "encryption",
        "inventory",
        "lifecycle",
        "location",
        "logging",
        "metrics",
        "notification",
        "partNumber",
        "policy",
        "replication",
        "requestPayment",
        "restore",
        "select",
        "tagging",
        "torrent",
        "uploadId",
        "uploads",
        "versionId",
        "versioning",
        "versions",
        "website",
        *(
            f"response-{name}"
            for name in (
                "cache-control",
                "content-disposition",
                "content-encoding",
                "content-language",
                "content-type",
                "expires",
            )
        ),
    }
)
"""Parameters that the signature covers."""


@dataclass(frozen=True, slots=True)
class RequestSignatureV2:
    """Signature of a request, as the client states it, and the text that it signs."""

    access_key_id: str
    value: str
    text: bytes

    def verify(self, secret: bytes) -> None:
        """Verify the signature.

        Raises:
            S3Refusal: The signature does not match.
        """
        expected = base64.b64encode(hmac.digest(secret, self.text, hashlib.sha1)).decode()
        if not hmac.compare_digest(expected.encode(), self.value.encode()):
            raise does_not_match()


def carries_v2(request: S3Request) -> bool:
    """Return true if a request has a signature of version 2."""
    return (request.header("authorization") or "").startswith(_SCHEME) or request.has("AWSAccessKeyId")


def read_signature_v2(request: S3Request, host_bucket: str, now: datetime) -> RequestSignatureV2:
    """Return the signature of a request, if it may be verified: it is well formed, and not too old.

    Args:
        request: The request.
        host_bucket: Bucket that the host names, or "".
        now: The current time.

    Raises:
        S3Refusal: The signature is malformed or too old.
    """
    authorization = request.header("authorization") or ""
    in_header = authorization.startswith(_SCHEME)
    if carries_v4(request) or (in_header and request.has("AWSAccessKeyId")):
        raise S3Refusal(400, "InvalidArgument", "only one signature may be given")
    if in_header:
        id, _, value = authorization.removeprefix(_SCHEME).strip().rpartition(":")
        time = _time_of(request, now)
    else:
        id, value = request.parameter("AWSAccessKeyId") or "", request.parameter("Signature") or ""
        time = _expiry_of(request, now)
    if not id or not value:
        raise S3Refusal(400, "AuthorizationHeaderMalformed", "the signature must have an access key and a value")
    return RequestSignatureV2(id, value, _text(request, host_bucket, time))


def _time_of(request: S3Request, now: datetime) -> str:
    """Return the time that a signature in the header covers: the header `Date`, or "" if `x-amz-date` has the time."""
    moved = request.header("x-amz-date")
    given = moved or request.header("date") or ""
    try:
        moment = parsedate_to_datetime(given)
        moment = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        skew = abs(now - moment)
    except (ValueError, OverflowError) as e:
        raise S3Refusal(403, "AccessDenied", "the request has neither a valid x-amz-date nor a valid date") from e
    if skew > MAX_SKEW:
        raise S3Refusal(
            403, "RequestTimeTooSkewed", f"the time of the request differs from {now:%Y%m%dT%H%M%SZ} by over 15 minutes"
        )
    return "" if moved else given


def _expiry_of(request: S3Request, now: datetime) -> str:
    given = request.parameter("Expires") or ""
    if not (given.isascii() and given.isdigit() and len(given) <= 12):
        raise S3Refusal(400, "AuthorizationQueryParametersError", "Expires must be a number of seconds since 1970")
    left = int(given) - now.timestamp()
    if left < 0:
        raise S3Refusal(403, "AccessDenied", "the presigned URL has expired")
    if left > timedelta(seconds=MAX_PRESIGNED_SECONDS).total_seconds():
        raise S3Refusal(400, "AuthorizationQueryParametersError", "Expires must be at most seven days from now")
    return given


def _text(request: S3Request, host_bucket: str, time: str) -> bytes:
    """Return the text that is signed."""
    names = sorted({name for name, _ in request.headers if name.startswith("x-amz-")})
    headers = [f"{name}:{request.header(name)}" for name in names]
    signed = sorted((name, value) for name, value in request.query if name in _SIGNED_PARAMETERS)
    parameters = "&".join(f"{name}={value}" if value else name for name, value in signed)
    path = (f"/{host_bucket}" if host_bucket else "") + request.raw_path
    if path.count("/") == 1:
        path = f"{path.rstrip('/')}/"  # a bucket has a slash at its end, even if the request has none
    resource = f"{path}?{parameters}" if parameters else path
    md5, kind = request.header("content-md5") or "", request.header("content-type") or ""
    return "\n".join((request.method, md5, kind, time, *headers, resource)).encode("latin-1", "replace")
