"""Signature version 4 of a request: reading it from the header `Authorization` or from the query, and verifying it.

All headers `x-amz-…` and the header `host` must be signed. Otherwise somebody who has only a presigned URL could add
headers that change the effect of the request, or send it to another server.

A presigned URL is valid from its time for as many seconds as it says, at most seven days. All other requests must be
signed within 15 minutes of the server's time.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Final

from graveler.server.s3.canonical_request import SIGNATURE_PARAMETER, digest_of
from graveler.server.s3.refusals import S3Refusal
from graveler.server.s3.request import S3Request

ALGORITHM: Final = "AWS4-HMAC-SHA256"
UNSIGNED_PAYLOAD: Final = "UNSIGNED-PAYLOAD"
MAX_SKEW: Final = timedelta(minutes=15)
MAX_PRESIGNED_SECONDS: Final = 604_800
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")
_TIME: Final = re.compile(r"\d{8}T\d{6}Z")
_TERMINATOR: Final = "aws4_request"


@dataclass(frozen=True, slots=True)
class RequestSignature:
    """Signature of a request, as the client states it."""

    access_key_id: str
    time: str
    """Time of signing, as `20261124T194127Z`."""
    region: str
    signed_headers: tuple[str, ...]
    value: str
    payload: str
    """Value for the body: its SHA-256 in hex, or a word that says how the body is protected."""

    @property
    def date(self) -> str:
        """Day of signing, as `20261124`."""
        return self.time[:8]

    @property
    def scope(self) -> str:
        """Scope of the signature: day, region, service."""
        return f"{self.date}/{self.region}/s3/{_TERMINATOR}"

    def verify(self, request: S3Request, key: bytes) -> None:
        """Verify the signature.

        Args:
            request: The request.
            key: Result of `signing_key`.

        Raises:
            S3Refusal: The signature does not match.
        """
        digest = digest_of(request, self.signed_headers, self.payload)
        expected = sign(key, f"{ALGORITHM}\n{self.time}\n{self.scope}\n{digest}")
        if not hmac.compare_digest(expected, self.value):
            raise does_not_match()


def does_not_match() -> S3Refusal:
    """Return the refusal of a wrong signature."""
    return S3Refusal(
        403,
        "SignatureDoesNotMatch",
        "the signature does not match the one that the server computes: check the secret access key, and that no proxy "
        "changes the host, the path or signed headers",
    )


def signing_key(secret: str, date: str, region: str) -> bytes:
    """Return the key that signs requests of one day in one region."""
    key = b"AWS4" + secret.encode()
    for part in (date, region, "s3", _TERMINATOR):
        key = hmac.digest(key, part.encode(), hashlib.sha256)
    return key


def sign(key: bytes, text: str) -> str:
    """Return the signature of a text, in hex."""
    return hmac.digest(key, text.encode(), hashlib.sha256).hex()


def carries_signature(authorization: str, parameters: Sequence[str]) -> bool:
    """Return true if a request is signed, by any version of AWS signatures.

    Args:
        authorization: Header `Authorization`, or "".
        parameters: Names of the query parameters.
    """
    return authorization.startswith(("AWS4", "AWS ")) or any(
        name in ("X-Amz-Credential", "X-Amz-Algorithm", SIGNATURE_PARAMETER, "AWSAccessKeyId") for name in parameters
    )


def carries_v4(request: S3Request) -> bool:
    """Return true if a request has a signature of version 4."""
    return (request.header("authorization") or "").startswith("AWS4") or _is_presigned(request)


def payload_of(request: S3Request) -> str:
    """Return what a request says about its body: its SHA-256 in hex, or a word that says how the body is protected."""
    in_query = request.parameter("X-Amz-Content-Sha256") if _is_presigned(request) else None
    return in_query or request.header("x-amz-content-sha256") or UNSIGNED_PAYLOAD


def read_signature(request: S3Request, now: datetime) -> RequestSignature:
    """Return the signature of a request, if it may be verified: it is well formed, and not too old.

    Args:
        request: The request.
        now: The current time.

    Raises:
        S3Refusal: The signature is missing, malformed or too old.
    """
    authorization = request.header("authorization") or ""
    presigned = _is_presigned(request)
    if authorization.startswith("AWS4"):
        if presigned:
            raise S3Refusal(400, "InvalidArgument", "only one of Authorization and X-Amz-Signature may be given")
        found = _from_header(request, authorization)
        _require_recent(found, now)
    elif presigned:
        found = _from_query(request, now)
    elif authorization.startswith("AWS ") or request.has("AWSAccessKeyId"):
        raise S3Refusal(
            400,
            "InvalidRequest",
            "this server does not accept signature version 2; please use AWS4-HMAC-SHA256 (signature_version='s3v4' in "
            "boto3), or start the server with --s3-signature-v2",
        )
    else:
        raise S3Refusal(403, "AccessDenied", "the request is not signed")
    _require_signed(request, found.signed_headers)
    return found


def _is_presigned(request: S3Request) -> bool:
    return request.has(SIGNATURE_PARAMETER) or request.has("X-Amz-Algorithm")


def _from_header(request: S3Request, authorization: str) -> RequestSignature:
    algorithm, _, rest = authorization.partition(" ")
    if algorithm != ALGORITHM:
        raise _malformed(f"the algorithm {algorithm[:40]!r} must be {ALGORITHM}")
    pairs = (part.strip().partition("=") for part in rest.split(","))
    fields = {name: value for name, _, value in pairs}
    if fields.keys() != {"Credential", "SignedHeaders", "Signature"}:
        raise _malformed("it must have Credential, SignedHeaders and Signature")
    payload = request.header("x-amz-content-sha256")
    if payload is None:
        raise S3Refusal(400, "InvalidRequest", "the header x-amz-content-sha256 is missing")
    return _signature(fields["Credential"], _time_of(request), fields["SignedHeaders"], fields["Signature"], payload)


def _time_of(request: S3Request) -> str:
    """Return the time in the headers of a request."""
    given = request.header("x-amz-date")
    if given is not None:
        return given
    try:
        moment = parsedate_to_datetime(request.header("date") or "")
        return moment.astimezone(UTC).strftime("%Y%m%dT%H%M%SZ")
    except (ValueError, OverflowError) as e:
        raise S3Refusal(403, "AccessDenied", "the request has neither a valid x-amz-date nor a valid date") from e


def _from_query(request: S3Request, now: datetime) -> RequestSignature:
    fields = {}
    for name in ("Algorithm", "Credential", "Date", "Expires", "SignedHeaders", "Signature"):
        value = request.parameter(f"X-Amz-{name}")
        if value is None:
            raise _wrong_parameters(f"X-Amz-{name} is missing")
        fields[name] = value
    if fields["Algorithm"] != ALGORITHM:
        raise _wrong_parameters(f"X-Amz-Algorithm must be {ALGORITHM}")
    expires = fields["Expires"]
    if not re.fullmatch(r"[0-9]{1,6}", expires) or not 1 <= int(expires) <= MAX_PRESIGNED_SECONDS:
        raise _wrong_parameters(f"X-Amz-Expires must be a number of seconds from 1 to {MAX_PRESIGNED_SECONDS}")
    found = _signature(
        fields["Credential"], fields["Date"], fields["SignedHeaders"], fields["Signature"], payload_of(request)
    )
    moment = _moment(found.time)
    if moment - now > MAX_SKEW:
        raise S3Refusal(403, "AccessDenied", "the presigned URL is not valid yet")
    if now - moment > timedelta(seconds=int(expires)):
        raise S3Refusal(403, "AccessDenied", "the presigned URL has expired")
    return found


def _signature(credential: str, time: str, signed_headers: str, value: str, payload: str) -> RequestSignature:
    parts = credential.split("/")
    if len(parts) != 5 or parts[3:] != ["s3", _TERMINATOR] or not all(parts):
        raise _malformed("the credential must be <access key>/<date>/<region>/s3/aws4_request")
    _moment(time)
    if parts[1] != time[:8]:
        raise _malformed(f"the date of the credential, {parts[1][:20]!r}, must be that of the request")
    if not _DIGEST.fullmatch(value):
        raise _malformed("the signature must be 64 hex digits")
    if not payload.isascii():
        raise _malformed("the value for the body, x-amz-content-sha256, must be ASCII")
    names = tuple(signed_headers.split(";"))
    if list(names) != sorted(set(names)) or any(name != name.lower() for name in names):
        raise _malformed("the signed headers must be in lower case, in order, each once")
    return RequestSignature(parts[0], time, parts[2], names, value, payload)


def _require_recent(found: RequestSignature, now: datetime) -> None:
    if abs(now - _moment(found.time)) > MAX_SKEW:
        raise S3Refusal(
            403, "RequestTimeTooSkewed", f"the time of the request differs from {now:%Y%m%dT%H%M%SZ} by over 15 minutes"
        )


def _require_signed(request: S3Request, signed: tuple[str, ...]) -> None:
    """Refuse a request if a header that can change its meaning is not signed, or if a signed header is missing."""
    present = {name for name, _ in request.headers}
    unsigned = sorted(name for name in present if name.startswith("x-amz-") and name not in signed)
    if "host" not in signed:
        unsigned.append("host")
    if unsigned:
        raise S3Refusal(403, "AccessDenied", f"headers that must be signed and are not: {', '.join(unsigned)}")
    missing = sorted(set(signed) - present)
    if missing:
        raise S3Refusal(403, "AccessDenied", f"headers that are signed and missing: {', '.join(missing)}"[:500])


def _moment(time: str) -> datetime:
    try:
        if not _TIME.fullmatch(time):
            raise ValueError
        return datetime.strptime(time, "%Y%m%dT%H%M%SZ").replace(tzinfo=UTC)
    except ValueError as e:
        raise _malformed(f"the time {time[:40]!r} must have the form 20261124T194127Z") from e


def _malformed(why: str) -> S3Refusal:
    return S3Refusal(400, "AuthorizationHeaderMalformed", f"the signature is malformed: {why}")


def _wrong_parameters(why: str) -> S3Refusal:
    return S3Refusal(400, "AuthorizationQueryParametersError", why)
