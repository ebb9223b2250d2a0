"""Deletion of many keys by one request."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from graveler.server.s3.call import S3Call, xml_response
from graveler.server.s3.objects import remove
from graveler.server.s3.refusals import S3Refusal, malformed, not_implemented, refusal_of
from graveler.server.s3.xml import Content, XmlElement
from graveler_core.errors import GravelerError, Kind

MAX_DELETED: Final = 1_000
_CONDITIONS: Final = ("VersionId", "ETag", "LastModifiedTime", "Size")
"""Elements that say what a key must have to be removed."""


def delete_objects(call: S3Call) -> Response:
    """Remove the keys that the body names. Each key is removed or refused on its own."""
    _ = call.repository  # before a large document is parsed
    wanted = call.xml("Delete")
    objects = wanted.all("Object")
    keys = [element.value("Key") for element in objects]
    if not 1 <= len(keys) <= MAX_DELETED:
        raise malformed(f"must name from 1 to {MAX_DELETED:,} objects")
    quiet = any(element.text.strip().lower() == "true" for element in wanted.all("Quiet"))
    content: list[tuple[str, Content]] = []
    for key, element in zip(keys, objects, strict=True):
        failed = _unsupported(element) or _removed(call, key)
        if failed is not None:
            content.append(("Error", [("Key", key), ("Code", failed.code), ("Message", failed.message)]))
        elif not quiet:
            content.append(("Deleted", [("Key", key)]))
    return xml_response("DeleteResult", content)


def _unsupported(element: XmlElement) -> S3Refusal | None:
    """Return the refusal of a deletion of a version, or with a condition. It must not remove what is current."""
    for child in element.children:
        if child.name in _CONDITIONS and child.text not in ("", "null"):
            return not_implemented(f"{child.name} of a deletion")
    return None


def _removed(call: S3Call, key: str) -> S3Refusal | None:
    try:
        remove(call, key)
    except GravelerError as e:
        if e.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting):
            raise
        return refusal_of(e)
    return None
