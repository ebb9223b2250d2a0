"""Deletion of many keys by one request."""

from __future__ import annotations

from typing import Final

from starlette.responses import Response

from graveler.server.s3.call import S3Call, xml_response
from graveler.server.s3.objects import remove
from graveler.server.s3.refusals import S3Refusal, malformed, refusal_of
from graveler.server.s3.xml import Content
from graveler_core.errors import GravelerError, Kind

MAX_DELETED: Final = 1_000


def delete_objects(call: S3Call) -> Response:
    """Remove the keys that the body names. Each key is removed or refused on its own."""
    wanted = call.xml("Delete")
    keys = [element.value("Key") for element in wanted.all("Object")]
    if not 1 <= len(keys) <= MAX_DELETED:
        raise malformed(f"must name from 1 to {MAX_DELETED:,} objects")
    quiet = any(element.text.strip().lower() == "true" for element in wanted.all("Quiet"))
    _ = call.repository
    content: list[tuple[str, Content]] = []
    for key in keys:
        failed = _removed(call, key)
        if failed is not None:
            content.append(("Error", [("Key", key), ("Code", failed.code), ("Message", failed.message)]))
        elif not quiet:
            content.append(("Deleted", [("Key", key)]))
    return xml_response("DeleteResult", content)


def _removed(call: S3Call, key: str) -> S3Refusal | None:
    try:
        remove(call, key)
    except GravelerError as e:
        if e.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting):
            raise
        return refusal_of(e)
    return None
