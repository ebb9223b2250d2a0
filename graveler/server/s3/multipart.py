"""Operations on multipart uploads. Their state is in the store, so any server can continue them."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Final

from starlette.responses import Response

from graveler.server.completed_uploads import completed_entry
from graveler.server.entries import entry_at
from graveler.server.kept_md5 import etag_of_parts, with_etag
from graveler.server.s3.call import S3Call, empty_response, xml_response
from graveler.server.s3.conditions import failed_read, is_conditional_write, precondition_failed, require_write
from graveler.server.s3.copy_answers import ContentCopy
from graveler.server.s3.listing import ListingQuery
from graveler.server.s3.object_metadata import (
    DEFAULT_CONTENT_TYPE,
    etag_of,
    metadata_of,
    time_of_document,
)
from graveler.server.s3.objects import source_of, stage
from graveler.server.s3.refusals import S3Refusal, invalid_argument, malformed
from graveler.server.s3.request import MAX_PART_NUMBER
from graveler.server.s3.xml import Content, XmlElement, document
from graveler_core.errors import InvalidInput, Kind, NotFound
from graveler_core.model.entry import Entry

MAX_LISTED: Final = 1_000
"""Maximum number of parts or uploads of a page."""
_SIZE: Final = "x-amz-mp-object-size"
_COPIED: Final = re.compile(r"bytes=([0-9]{1,19})-([0-9]{0,19})")


def create_upload(call: S3Call) -> Response:
    """Begin an upload. The content type and the metadata of this request become those of the entry."""
    request = call.request
    content_type = request.header("content-type") or DEFAULT_CONTENT_TYPE
    id = call.branch.begin_multipart(call.path, content_type=content_type, metadata=metadata_of(request))
    content = [("Bucket", call.bucket), ("Key", call.key), ("UploadId", id)]
    return xml_response("InitiateMultipartUploadResult", content)


def upload_part(call: S3Call) -> Response:
    """Store the body of the request as a part."""
    number, body = _part_number(call), call.body
    call.branch.upload_part(call.path, _upload_id(call), number, body, checksum=lambda: f"md5:{body.md5}")
    return empty_response(headers={"etag": f'"{body.md5}"', **body.checked})


def copy_part(call: S3Call) -> ContentCopy:
    """Store the content of an entry, or a range of it, as a part."""
    number, content = _part_number(call), source_of(call)
    if failed_read(call.request, content.entry, "x-amz-copy-source-") is not None:
        raise precondition_failed()
    wanted = call.request.header("x-amz-copy-source-range")
    first, end = (0, content.size) if wanted is None else _copied_range(wanted, content.size)
    return ContentCopy(lambda: _store_copy(call, number, content.ranges(first, end)))


def _store_copy(call: S3Call, number: int, content: Iterator[bytes]) -> bytes:
    """Store content as a part. Return the document of the answer."""
    digest = hashlib.md5(usedforsecurity=False)

    def read() -> Iterator[bytes]:
        for chunk in content:
            digest.update(chunk)
            yield chunk

    stored = call.branch.upload_part(
        call.path, _upload_id(call), number, read(), checksum=lambda: f"md5:{digest.hexdigest()}"
    )
    return document(
        "CopyPartResult",
        [("LastModified", time_of_document(stored.creation_date)), ("ETag", _etag(stored.checksum))],
    )


def complete_upload(call: S3Call) -> ContentCopy:
    """Make one object of the parts that the body names, and stage an entry for it.

    A client that waits too long for the answer repeats the request. It then gets the same answer.
    """
    conditional = is_conditional_write(call.request)
    wanted = [_named_part(element) for element in call.xml("CompleteMultipartUpload", verify=False).all("Part")]
    if not wanted:
        raise malformed("must name at least one part")
    if sorted({number for number, _ in wanted}) != [number for number, _ in wanted]:
        raise S3Refusal(400, "InvalidPartOrder", "the parts must be in ascending order, each once")
    conditions = [call.request.header(name) for name in ("if-match", "if-none-match", _SIZE)]
    repeated = (call.signed_in.user, call.bucket, call.key, _upload_id(call), *wanted, *conditions)
    return ContentCopy(partial(_complete, call, wanted, conditional=conditional), repeated)


def _complete(call: S3Call, wanted: list[tuple[int, str]], *, conditional: bool) -> bytes:
    """Complete an upload. Return the document of the answer."""
    expected = etag_of_parts([md5 for _, md5 in wanted])
    try:
        etag = etag_of(_assemble(call, wanted, expected, conditional=conditional))
    except (NotFound, S3Refusal):
        completed = completed_entry(call.branch, call.path, _upload_id(call), expected)
        if completed is None:
            raise
        etag = etag_of(completed)
    return document(
        "CompleteMultipartUploadResult",
        [("Bucket", call.bucket), ("Key", call.key), ("ETag", f'"{etag}"')],
    )


def _assemble(call: S3Call, wanted: list[tuple[int, str]], etag: str | None, *, conditional: bool) -> Entry:
    """Assemble the parts, stage the entry, and end the upload."""
    branch, path, id = call.branch, call.path, _upload_id(call)
    current = entry_at(branch, path) if conditional else None
    if conditional:
        require_write(call.request, current)
    try:
        assembled = branch.assemble_multipart(path, id, [(number, f"md5:{md5}") for number, md5 in wanted])
    except InvalidInput as e:
        if e.kind is not Kind.PartMismatch:
            raise
        raise S3Refusal(400, "InvalidPart", e.message) from e
    size = call.request.header(_SIZE)
    if size is not None and size != str(assembled.size):
        raise S3Refusal(400, "InvalidRequest", f"{_SIZE}: the parts have {assembled.size} bytes together")
    made = assembled if etag is None else with_etag(assembled, etag)
    staged = stage(branch, path, made, current, conditional=conditional)
    branch.end_multipart(path, id)
    return staged


def abort_upload(call: S3Call) -> Response:
    """Give up an upload, and delete its parts."""
    call.branch.end_multipart(call.path, _upload_id(call))
    return empty_response(204)


def list_parts(call: S3Call) -> Response:
    """List the parts of an upload."""
    id = _upload_id(call)
    most = call.request.number("max-parts", MAX_LISTED, most=MAX_LISTED)
    marker = call.request.number("part-number-marker", 0, most=MAX_PART_NUMBER)
    rest = [part for part in call.branch.uploaded_parts(call.path, id) if part.number > marker]
    shown = rest[:most]
    content: list[tuple[str, Content]] = [
        ("Bucket", call.bucket),
        ("Key", call.key),
        ("UploadId", id),
        ("PartNumberMarker", marker),
        ("NextPartNumberMarker", shown[-1].number if shown else marker),
        ("MaxParts", most),
        ("IsTruncated", bool(shown) and len(rest) > most),
        ("StorageClass", "STANDARD"),
    ]
    for part in shown:
        modified = time_of_document(part.creation_date)
        etag = _etag(part.checksum)
        fields: list[tuple[str, Content]] = [("PartNumber", part.number), ("LastModified", modified), ("ETag", etag)]
        content.append(("Part", [*fields, ("Size", part.size)]))
    return xml_response("ListPartsResult", content)


def list_uploads(call: S3Call) -> Response:
    """List the uploads of a bucket that have not ended.

    With a delimiter, a common prefix stands for those whose keys begin with it.
    """
    request = call.request
    most = request.number("max-uploads", MAX_LISTED, most=MAX_LISTED)
    query = ListingQuery.of(request, request.parameter("key-marker") or "")
    id_marker = request.parameter("upload-id-marker") or ""
    listed = sorted(
        (f"{each.branch}/{each.path}", each.id, each.creation_date) for each in call.repository.multipart_uploads()
    )
    rest = _grouped((each for each in listed if _follows(each, query.after, id_marker)), query)
    shown = list(islice(rest, most))
    content: list[tuple[str, Content]] = [
        ("Bucket", call.bucket),
        ("KeyMarker", query.shown(query.after)),
        ("UploadIdMarker", id_marker),
        ("Prefix", query.shown(query.prefix)),
        *([("Delimiter", query.shown(query.delimiter))] if query.delimiter else []),
        *([("EncodingType", "url")] if query.encoded else []),
        ("NextKeyMarker", query.shown(shown[-1][0]) if shown else ""),
        ("NextUploadIdMarker", shown[-1][1] if shown else ""),
        ("MaxUploads", most),
        ("IsTruncated", bool(shown) and next(rest, None) is not None),
    ]
    for key, id, begun in shown:
        if begun is None:
            content.append(("CommonPrefixes", [("Prefix", query.shown(key))]))
            continue
        fields = [("Key", query.shown(key)), ("UploadId", id), ("StorageClass", "STANDARD")]
        content.append(("Upload", [*fields, ("Initiated", time_of_document(begun))]))
    return xml_response("ListMultipartUploadsResult", content)


def _grouped(
    uploads: Iterable[tuple[str, str, datetime]], query: ListingQuery
) -> Iterator[tuple[str, str, datetime | None]]:
    """Yield the uploads with the prefix of a query, and each common prefix once, without an id and a time."""
    last = query.after
    for key, id, begun in uploads:
        if not key.startswith(query.prefix):
            continue
        if query.delimiter and query.delimiter in key[len(query.prefix) :]:
            common = query.prefix + key[len(query.prefix) :].partition(query.delimiter)[0] + query.delimiter
            if not last.startswith(common):
                yield common, "", None
            last = common
        else:
            yield key, id, begun


def _copied_range(wanted: str, size: int) -> tuple[int, int]:
    """Return the first position of a range of the source of a copy, and the one after its last."""
    header = f"x-amz-copy-source-range {wanted[:80]!r}"
    found = _COPIED.fullmatch(wanted.strip())
    if found is None:
        raise invalid_argument(f"{header}: must have the form bytes=first-last")
    first, end = int(found[1]), int(found[2]) + 1 if found[2] else size
    if first >= size:
        raise S3Refusal(416, "InvalidRange", f"{header}: begins after the {size} bytes of the source")
    if not first < end <= size:
        raise invalid_argument(f"{header}: is not a range of the {size} bytes of the source")
    return first, end


def _follows(upload: tuple[str, str, datetime], key: str, id: str) -> bool:
    return (upload[0], upload[1]) > (key, id) if id else upload[0] > key


def _upload_id(call: S3Call) -> str:
    return call.request.parameter("uploadId") or ""


def _part_number(call: S3Call) -> int:
    number = call.request.number("partNumber", 0, most=MAX_PART_NUMBER + 1, least=1)
    if not 1 <= number <= MAX_PART_NUMBER:
        raise invalid_argument(f"partNumber: must be a whole number from 1 to {MAX_PART_NUMBER:,}")
    return number


def _named_part(element: XmlElement) -> tuple[int, str]:
    number = element.value("PartNumber").strip()
    if not (number.isascii() and number.isdigit() and len(number) <= 5):
        raise malformed(f"PartNumber {number[:40]!r} must be a whole number")
    return int(number), element.value("ETag").strip().strip('"')


def _etag(checksum: str) -> str:
    return f'"{checksum.rpartition(":")[2]}"'
