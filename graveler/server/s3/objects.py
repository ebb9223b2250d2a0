"""Operations on objects: read, write, copy, delete."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Final
from urllib.parse import unquote_to_bytes

from starlette.responses import Response

from graveler.server.content_copies import stage_shared, with_own_content
from graveler.server.content_response import UnsatisfiableRange, body_response, content_range
from graveler.server.entity_tags import range_of
from graveler.server.entries import entry_at
from graveler.server.kept_md5 import metadata_with_etag
from graveler.server.s3.call import S3Call, empty_response, repository_of
from graveler.server.s3.conditions import (
    failed_read,
    is_conditional_write,
    precondition_failed,
    refuse_condition_of_deletion,
    require_write,
)
from graveler.server.s3.copy_answers import ContentCopy
from graveler.server.s3.object_metadata import (
    DEFAULT_CONTENT_TYPE,
    etag_of,
    for_copy,
    headers_of,
    metadata_of,
    time_of_document,
)
from graveler.server.s3.object_metadata import modified as modification_time
from graveler.server.s3.refusals import NO_REFS, S3Refusal, invalid_argument, not_implemented
from graveler.server.s3.request import MAX_PART_NUMBER, S3Request
from graveler.server.s3.sha256_header import sha256_header
from graveler.server.s3.xml import document
from graveler_core.errors import InvalidInput, Kind, NotFound, PredicateFailed
from graveler_core.facade.branch import Branch
from graveler_core.facade.content_file import ContentFile
from graveler_core.model.entry import Entry

PRESIGNED_SECONDS: Final = 900
"""Seconds for which a signed URL of the object store is valid."""
_REDIRECTED: Final = "s3RedirectionSupport"
"""Word in the user agent of a client that follows redirections, as lakeFS defines it."""
_OVERRIDES: Final = (
    "content-type",
    "content-language",
    "expires",
    "cache-control",
    "content-disposition",
    "content-encoding",
)
"""Headers that a read can replace by the query parameter `response-<name>`."""


def get_object(call: S3Call) -> Response:
    """Answer with the content of an entry, or one range of it."""
    return _read(call, with_body=True)


def head_object(call: S3Call) -> Response:
    """Answer with the headers of `get_object`."""
    if call.key.endswith("/") and not call.path:  # clients look for a directory here
        with _existing_ref():
            _ = call.repository.at(call.ref)
        return empty_response(headers={"content-type": "application/x-directory", "content-length": "0"})
    return _read(call, with_body=False)


def put_object(call: S3Call) -> Response:
    """Store the body of the request, and stage an entry for it."""
    opened, path, request = call.open_branch(), call.path, call.request
    branch = opened.branch
    if opened.repository().read_only:  # before all other errors of the request
        raise S3Refusal(403, "AccessDenied", f"repository {call.bucket!r} is read-only")
    if _is_directory_marker(call):
        return _put_marker(call)
    conditional = is_conditional_write(request)
    current = entry_at(branch, path) if conditional else None
    if conditional:
        require_write(request, current)  # before the client sends the content
    metadata, body = metadata_of(request), call.body
    write: Callable[..., Entry] = partial(branch.upload, to_stage=True) if conditional else branch.put
    staged = write(
        path,
        body,
        content_type=request.header("content-type") or DEFAULT_CONTENT_TYPE,
        metadata=lambda checksum: metadata_with_etag(metadata, body.md5, checksum),
        checksum=body.compute_sha256(),
    )
    if conditional:
        staged = stage(branch, path, staged, current, conditional=True)
    return empty_response(headers={"etag": f'"{etag_of(staged)}"', **body.checked})


def copy_object(call: S3Call) -> Response | ContentCopy:
    """Stage an entry with the content of another one. Within a repository, content is copied only if it must be."""
    request, branch = call.request, call.branch
    content = source_of(call)
    failed = failed_read(request, content.entry, "x-amz-copy-source-")
    if failed is not None:
        raise precondition_failed()
    conditional = is_conditional_write(request)
    current = entry_at(branch, call.path) if conditional else None
    if conditional:
        require_write(request, current)
    directive = (request.header("x-amz-metadata-directive") or "COPY").upper()
    if directive not in ("COPY", "REPLACE"):
        raise invalid_argument(f"x-amz-metadata-directive {directive[:40]!r}: must be COPY or REPLACE")
    replaced = metadata_of(request) if directive == "REPLACE" else None
    shared = for_copy(content.entry, replaced, request.header("content-type") or DEFAULT_CONTENT_TYPE)
    made = replace(shared, identity=b"")
    put = partial(stage, branch, call.path, current=current, conditional=conditional)
    if source_bucket(call) == call.bucket or made.data is not None:
        staged = stage_shared(put, made)
        if staged is not None:
            return Response(_copy_result(staged), media_type="application/xml")
    return ContentCopy(lambda: _copy_result(put(with_own_content(branch, call.path, shared, content))))


def _copy_result(staged: Entry) -> bytes:
    """Return the document that answers a copy."""
    return document(
        "CopyObjectResult",
        [("LastModified", time_of_document(modification_time(staged))), ("ETag", f'"{etag_of(staged)}"')],
    )


def delete_object(call: S3Call) -> Response:
    """Remove a key. A key that does not exist is no error."""
    refuse_condition_of_deletion(call.request)
    remove(call, call.key)
    return empty_response(204)


def remove(call: S3Call, key: str) -> None:
    """Remove a key. A key whose path or branch does not exist counts as removed."""
    ref, _, path = key.partition("/")
    if not path:
        return
    try:
        call.repository.branch(ref).remove(path)
    except NotFound as e:
        if e.kind is not Kind.BranchNotFound:
            raise
    except InvalidInput as e:
        if e.kind is not Kind.InvalidName:
            raise


def stage(branch: Branch, path: str, entry: Entry, current: Entry | None, *, conditional: bool) -> Entry:
    """Stage an entry. A conditional write is staged only if the path still has the entry `current`."""
    if not conditional:
        return branch.stage(path, entry)
    try:
        return branch.stage_if(path, entry, current)
    except PredicateFailed as e:
        raise precondition_failed() from e


def source_of(call: S3Call) -> ContentFile:
    """Open the source of a copy."""
    bucket, ref, path = _source(call)
    try:
        with _existing_ref():
            return repository_of(call.graveler, bucket).at(ref).open(path)
    except NotFound as e:
        if e.kind in (Kind.RepositoryNotFound, Kind.RepositoryDeleting):
            raise
        raise S3Refusal(404, "NoSuchKey", f"the source {ref}/{path} does not exist in bucket {bucket!r}") from e


@contextmanager
def _existing_ref() -> Iterator[None]:
    """Answer that a key does not exist if its ref cannot exist. A client asks for such a key to learn if it exists."""
    try:
        yield
    except InvalidInput as e:
        if e.kind not in NO_REFS:
            raise
        raise S3Refusal(404, "NoSuchKey", e.message) from e


def source_bucket(call: S3Call) -> str:
    """Return the bucket of the source of a copy."""
    return _source(call)[0]


def _source(call: S3Call) -> tuple[str, str, str]:
    # As in lakeFS and S3, a plus sign is a space here, unlike in a path.
    given, _, query = (call.request.header("x-amz-copy-source") or "").partition("?")
    if query not in ("", "versionId=null"):  # the only version of an object without versions
        raise not_implemented(f"x-amz-copy-source with {query[:80]!r}")
    try:
        text = unquote_to_bytes(given.encode("latin-1").replace(b"+", b" ")).decode()
    except UnicodeDecodeError as e:
        raise invalid_argument("x-amz-copy-source: must be UTF-8 text") from e
    bucket, _, key = text.removeprefix("/").partition("/")
    ref, _, path = key.partition("/")
    if not (bucket and ref and path):
        raise invalid_argument(f"x-amz-copy-source {text[:200]!r}: must be <bucket>/<ref>/<path>")
    return bucket, ref, path


def _read(call: S3Call, *, with_body: bool) -> Response:
    request = call.request
    if not call.path:
        raise S3Refusal(404, "NoSuchKey", f"key {call.key!r}: must be <ref>/<path>")
    if with_body and _REDIRECTED in (request.header("user-agent") or ""):
        with suppress(InvalidInput):  # the store does not sign URLs
            url = call.repository.at(call.ref).presign(call.path, PRESIGNED_SECONDS)
            return Response(status_code=307, headers={"location": url})
    with _existing_ref():
        content = call.read(lambda _, ref: ref.open(call.path))
    failed = failed_read(request, content.entry)
    headers = headers_of(content.entry)
    if failed == 412:
        raise precondition_failed()
    if failed is not None:
        return empty_response(failed, {"etag": headers["etag"], "last-modified": headers["last-modified"]})
    for name in _OVERRIDES:
        value = request.parameter(f"response-{name}")
        if value is not None:
            headers[name] = _plain(name, value)
    try:
        part = _wanted(request, headers["etag"], content.size)
    except UnsatisfiableRange as e:
        raise S3Refusal(
            416,
            "InvalidRange",
            "the range begins behind the end of the object, or is not one range",
            {"content-range": f"bytes */{content.size}"},
        ) from e
    checksum = sha256_header(request, content.entry) if part is None else {}
    headers.update(checksum)
    # A client that asks for the checksum compares it, so the server need not.
    return body_response(content, part, headers, without_body=not with_body, verify=not checksum)


def _wanted(request: S3Request, tag: str, size: int) -> tuple[int, int] | None:
    """Return the positions that a read asks for: a range, or part 1, because an object is stored in one part."""
    number = request.number("partNumber", 0, most=MAX_PART_NUMBER + 1, least=1)
    if not number:
        return content_range(range_of(request.header, tag), size)
    if request.header("range") is not None:
        raise S3Refusal(400, "InvalidRequest", "only one of Range and partNumber may be given")
    if number > 1:
        raise S3Refusal(416, "InvalidPartNumber", "the object has only the part 1")
    return (0, size - 1) if size else None


def _plain(name: str, value: str) -> str:
    if not value.isascii() or not value.isprintable():
        raise invalid_argument(f"response-{name}: must be printable ASCII")
    return value


def _is_directory_marker(call: S3Call) -> bool:
    return not call.path or call.path.endswith("/")


def _put_marker(call: S3Call) -> Response:
    """Accept an empty object that stands for a directory, and store nothing: directories exist by their entries."""
    for _ in call.body:
        raise invalid_argument(f"key {call.key[:200]!r}: must not end with '/', except for empty directory markers")
    call.branch.record()
    return empty_response(headers={"etag": '"d41d8cd98f00b204e9800998ecf8427e"'})
