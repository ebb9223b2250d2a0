"""Multipart uploads: clients store the parts in the object store themselves, with signed URLs.

They are uploads of the same kind as those of the S3 gateway. Every server can continue them, and a sweep removes those
that nobody ends. At the end, the content of the parts is copied into one object. The holder of a signed URL cannot
change this object, and its SHA-256 is known.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, ContentAnswer, answer, no_content
from graveler.server.api.conditions import refused_condition
from graveler.server.api.errors import PATH_EXISTS
from graveler.server.api.object_records import PartCopy, PartsAssembly, PartsUpload, PartUrl, StagedLocation
from graveler.server.api.objects import DEFAULT_CONTENT_TYPE, PRESIGNED_SECONDS, object_record
from graveler.server.completed_uploads import completed_entry
from graveler.server.content_response import UnsatisfiableRange, content_range
from graveler.server.entries import entry_at
from graveler.server.kept_md5 import etag_of_parts, with_etag
from graveler.server.refusals import refusal
from graveler_core.errors import InvalidInput, NotFound, PredicateFailed
from graveler_core.facade.branch import Branch
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import Entry

MAX_PARTS = 10_000


def create_presigned_upload(call: Call) -> HttpResponse:
    """Begin a multipart upload. The answer has signed URLs for the first parts, as many as the client wants."""
    repo, path = call.graveler.repository(call.repository), call.query.required("path")
    count = _whole(call.query.text("parts") or "0", "parts", 0)
    branch = repo.branch(call.branch)
    id = branch.begin_multipart(path)
    try:
        urls = branch.presign_parts(path, id, range(1, max(count, 1) + 1), PRESIGNED_SECONDS)
    except InvalidInput as error:  # the store does not sign URLs
        branch.end_multipart(path, id)
        return refusal(501, error.message)
    record = PartsUpload(upload_id=id, physical_address=_address(repo, id), presigned_urls=urls if count else None)
    return answer(201, record)


def presign_upload_part(call: Call) -> HttpResponse:
    """Answer with a signed URL for one part."""
    wanted: StagedLocation = call.body
    branch, path, id = _upload(call, wanted)
    return answer(200, PartUrl(presigned_url=branch.presign_parts(path, id, [_number(call)], PRESIGNED_SECONDS)[0]))


def copy_upload_part(call: Call) -> ContentAnswer:
    """Store the content of an entry, or a range of it, as a part.

    Each request copies. The source may be a branch, whose content changes between two of them.
    """
    return ContentAnswer(partial(_copy_part, call))


def _copy_part(call: Call) -> HttpResponse:
    wanted: PartCopy = call.body
    branch, path, id = _upload(call, wanted)
    source = wanted.copy_source
    content = call.graveler.repository(source.repository).at(source.ref).open(source.path)
    try:
        part = content_range(source.range, content.size)
    except UnsatisfiableRange:
        return refusal(416, f"range {source.range!r}: is not a range of the source")
    if source.range and part is None:
        raise InvalidInput(f"range {source.range[:80]!r}: must have the form bytes=first-last")
    first, end = (0, content.size) if part is None else (part[0], part[1] + 1)
    md5 = hashlib.md5(usedforsecurity=False)

    def read() -> Iterator[bytes]:
        for chunk in content.ranges(first, end):
            md5.update(chunk)
            yield chunk

    branch.upload_part(path, id, _number(call), read(), checksum=lambda: f"md5:{md5.hexdigest()}")
    return HttpResponse(status_code=204, headers={"etag": f'"{md5.hexdigest()}"'})


def complete_presigned_upload(call: Call) -> ContentAnswer:
    """Make one object of the parts that the body names, and stage an entry for it.

    A client that has not got the answer repeats the request. It then gets the same answer.
    """
    upload = (call.repository, call.branch, call.query.required("path"), call.path["upload"])
    conditions = [call.headers.get(name) for name in ("if-match", "if-none-match")]
    repeated = ("complete_presigned_upload", call.user, *upload, *conditions, call.body.model_dump_json())
    return ContentAnswer(partial(_complete, call), repeated)


def _complete(call: Call) -> HttpResponse:
    wanted: PartsAssembly = call.body
    refused = refused_condition(call.headers, "an upload")
    if refused is not None:
        return refused
    branch, path, id = _upload(call, wanted)
    etags = sorted((part.part_number, part.etag.strip('" ')) for part in wanted.parts)
    whole = etag_of_parts([etag for _, etag in etags])
    try:
        staged = _assemble(call, etags, whole)
    except (NotFound, PredicateFailed) as error:
        completed = completed_entry(branch, path, id, whole)
        if completed is not None:
            staged = completed
        elif isinstance(error, PredicateFailed):
            return refusal(412, PATH_EXISTS)
        else:
            raise
    return answer(200, object_record(call.graveler.repository(call.repository), staged))


def _assemble(call: Call, etags: Sequence[tuple[int, str]], whole: str | None) -> Entry:
    """Assemble the parts, stage the entry, and end the upload.

    Args:
        call: The request.
        etags: Numbers of the parts in their order, with their ETags.
        whole: ETag of the parts together.

    Raises:
        NotFound: (`UploadNotFound`) The upload has ended.
        PredicateFailed: The path exists, and the request has the condition `If-None-Match: *`.
    """
    wanted: PartsAssembly = call.body
    branch, path, id = _upload(call, wanted)
    conditional = bool(call.headers.get("if-none-match"))
    if conditional and entry_at(branch, path) is not None:
        raise PredicateFailed(f"path {path!r}: {PATH_EXISTS}")
    copied = {(part.number, part.checksum) for part in branch.uploaded_parts(path, id)}
    parts = [(number, f"md5:{etag}" if (number, f"md5:{etag}") in copied else f"etag:{etag}") for number, etag in etags]
    made = replace(
        branch.assemble_multipart(path, id, parts),
        content_type=wanted.content_type or DEFAULT_CONTENT_TYPE,
        metadata=wanted.user_metadata,
        identity=b"",
    )
    made = made if whole is None else with_etag(made, whole)
    staged = branch.stage_if(path, made, None) if conditional else branch.stage(path, made)
    branch.end_multipart(path, id)
    return staged


def abort_presigned_upload(call: Call) -> HttpResponse:
    """Give up an upload, and delete its parts."""
    wanted: StagedLocation = call.body
    branch, path, id = _upload(call, wanted)
    branch.end_multipart(path, id)
    return no_content()


def _upload(call: Call, wanted: StagedLocation) -> tuple[Branch, str, str]:
    """Return the branch, the path and the id of an upload, if the body has its address."""
    repo, path, id = call.graveler.repository(call.repository), call.query.required("path"), call.path["upload"]
    if wanted.physical_address != _address(repo, id):
        raise InvalidInput("physical_address: must be the one with which the upload began")
    return repo.branch(call.branch), path, id


def _address(repo: Repository, id: str) -> str:
    """Return the address below which the parts of an upload are."""
    return f"{repo.storage_namespace.rstrip('/')}/data/{id}"


def _number(call: Call) -> int:
    return _whole(call.path["part"], "part number", 1)


def _whole(text: str, name: str, least: int) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10 and least <= int(text) <= MAX_PARTS):
        raise InvalidInput(f"{name} {text[:40]!r}: must be a whole number from {least} to {MAX_PARTS:,}")
    return int(text)
