"""Choice of the operation for a request: by its method, and by the sub-resources in its query."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from starlette.responses import Response

from graveler.server.s3 import buckets, deletion, listing, multipart, objects
from graveler.server.s3.call import S3Call, xml_response
from graveler.server.s3.copy_answers import ContentCopy
from graveler.server.s3.refusals import S3Refusal, invalid_argument, not_implemented

Operation: TypeAlias = Callable[[S3Call], Response | ContentCopy]

_NOT_IMPLEMENTED: Final = frozenset(
    {
        "accelerate",
        "acl",
        "analytics",
        "attributes",
        "cors",
        "encryption",
        "intelligent-tiering",
        "inventory",
        "legal-hold",
        "lifecycle",
        "logging",
        "metadataConfiguration",
        "metadataTable",
        "metrics",
        "notification",
        "object-lock",
        "ownershipControls",
        "policy",
        "policyStatus",
        "publicAccessBlock",
        "renameObject",
        "replication",
        "requestPayment",
        "restore",
        "retention",
        "select",
        "session",
        "torrent",
        "versionId",
        "versions",
        "website",
    }
)
"""Sub-resources that the gateway does not have."""


def _tagging(call: S3Call) -> Response:
    """Answer that an object has no tags."""
    return xml_response("Tagging", [("TagSet", [])])


_READS: Final[dict[str, Operation]] = {
    "location": buckets.get_location,
    "versioning": buckets.get_versioning,
    "uploads": multipart.list_uploads,
}
"""Operations on a bucket by GET, by their sub-resource."""
_BUCKET: Final[dict[str, Operation]] = {
    "GET": listing.list_objects,
    "HEAD": buckets.head_bucket,
    "PUT": buckets.create_bucket,
}
_OBJECT: Final[dict[str, Operation]] = {
    "GET": objects.get_object,
    "HEAD": objects.head_object,
    "PUT": objects.put_object,
    "DELETE": objects.delete_object,
}
_PART: Final[dict[str, Operation]] = {
    "GET": multipart.list_parts,
    "PUT": multipart.upload_part,
    "POST": multipart.complete_upload,
    "DELETE": multipart.abort_upload,
}
"""Operations on a multipart upload."""
UPLOADS: Final = frozenset({objects.put_object, multipart.upload_part})
"""Operations that receive content."""


def operation_of(call: S3Call) -> Operation:
    """Return the operation of a request.

    Raises:
        S3Refusal: There is no such operation.
    """
    request = call.request
    names = {name for name, _ in request.query}
    if request.method == "GET" and names & {"tagging"} and call.key:
        return _tagging
    if "tagging" in names:
        raise S3Refusal(405, "ERRLakeFSNotSupported", "This operation is not supported in LakeFS")
    unknown = sorted(names & _NOT_IMPLEMENTED)
    if unknown:
        raise not_implemented(f"the sub-resource {unknown[0]}")
    found: Operation | None
    if not call.bucket:
        found = buckets.list_buckets if request.method == "GET" else None
    elif not call.key:
        found = _of_bucket(request.method, names, request.parameter("list-type"))
    else:
        found = _of_object(call, names)
    if found is None:
        raise S3Refusal(405, "MethodNotAllowed", f"{request.method[:20]}: is not allowed on this resource")
    return found


def _of_bucket(method: str, names: set[str], list_type: str | None) -> Operation | None:
    if method == "POST":
        return deletion.delete_objects if "delete" in names else None
    if method in ("PUT", "DELETE") and names & _READS.keys():
        raise not_implemented(f"{method} of the sub-resource {min(names & _READS.keys())}")
    if method != "GET":
        return _BUCKET.get(method)
    for name in sorted(names & _READS.keys()):
        return _READS[name]
    if list_type not in (None, "1", "2"):
        raise invalid_argument(f"list-type {list_type[:20]!r}: must be 2")
    return listing.list_objects_v2 if list_type == "2" else listing.list_objects


def _of_object(call: S3Call, names: set[str]) -> Operation | None:
    request = call.request
    if request.method in ("PUT", "POST", "DELETE") and "/" not in call.key:
        raise invalid_argument(f"key {call.key[:200]!r}: must be <branch>/<path>")
    copies = request.header("x-amz-copy-source") is not None
    if "uploadId" in names:
        if request.method == "PUT" and copies:
            return multipart.copy_part
        return _PART.get(request.method)
    if request.method == "PUT" and "partNumber" in names:
        raise invalid_argument("partNumber: needs an uploadId")
    if request.method == "POST":
        return multipart.create_upload if "uploads" in names else None
    if request.method == "PUT" and copies:
        return objects.copy_object
    return _OBJECT.get(request.method)
