"""Operations on buckets, which are repositories."""

from __future__ import annotations

import base64
import binascii
from itertools import islice
from typing import Final

from starlette.responses import Response

from graveler.server.s3.call import S3Call, empty_response, xml_response
from graveler.server.s3.object_metadata import time_of_document
from graveler.server.s3.refusals import S3Refusal, invalid_argument, not_implemented
from graveler.server.s3.xml import Content
from graveler_core.errors import NotFound

MAX_BUCKETS: Final = 10_000


def list_buckets(call: S3Call) -> Response:
    """List the repositories that the user may see."""
    most = call.request.number("max-buckets", MAX_BUCKETS, most=MAX_BUCKETS, least=1)
    prefix = call.request.parameter("prefix") or ""
    after = read_token(call.request.parameter("continuation-token"))
    found = iter(call.graveler.list_repositories(prefix, after))
    shown = list(islice(found, most))
    buckets = [("Bucket", [("Name", r.id), ("CreationDate", time_of_document(r.creation_date))]) for r in shown]
    user = call.signed_in.user or "everyone"
    content: list[tuple[str, Content]] = [
        ("Owner", [("ID", user), ("DisplayName", user)]),
        ("Buckets", buckets),
    ]
    if prefix:
        content.append(("Prefix", prefix))
    if shown and len(shown) == most and next(found, None) is not None:
        content.append(("ContinuationToken", token_of(shown[-1].id)))
    return xml_response("ListAllMyBucketsResult", content)


def head_bucket(call: S3Call) -> Response:
    """Answer with status 200 if the repository exists."""
    _ = call.repository
    return empty_response(headers={"x-amz-bucket-region": "us-east-1"})


def create_bucket(call: S3Call) -> Response:
    """Refuse: a repository needs a storage namespace."""
    try:
        _ = call.repository
    except NotFound:
        raise not_implemented(
            "CreateBucket (a bucket is a repository: use `graveler repo create` or lakeFS's API)"
        ) from None
    raise S3Refusal(409, "BucketAlreadyExists", f"bucket {call.bucket!r}: the repository exists")


def get_location(call: S3Call) -> Response:
    """Answer with an empty region, which means us-east-1."""
    _ = call.repository
    return xml_response("LocationConstraint", "")


def get_versioning(call: S3Call) -> Response:
    """Answer that object versions of S3 are off: commits are the versions."""
    _ = call.repository
    return xml_response("VersioningConfiguration", [])


def token_of(key: str) -> str:
    """Return the continuation token that resumes a listing after a key."""
    return base64.urlsafe_b64encode(key.encode()).decode()


def read_token(token: str | None) -> str:
    """Return the key of a continuation token, or "".

    Raises:
        S3Refusal: The token is not one of this server.
    """
    if not token:
        return ""
    try:
        return base64.b64decode(token, altchars=b"-_", validate=True).decode()
    except (binascii.Error, ValueError) as e:
        raise invalid_argument("the continuation token provided is incorrect") from e
