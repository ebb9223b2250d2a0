"""Operations on objects: list, show, read, write, copy, delete."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import partial
from time import time
from typing import Final

from starlette.responses import RedirectResponse
from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, ContentAnswer, answer, no_content
from graveler.server.api.conditions import refused_condition
from graveler.server.api.errors import PATH_EXISTS, message_of, status_of
from graveler.server.api.object_records import (
    ApiObject,
    ObjectCopy,
    ObjectErrorRecord,
    ObjectErrors,
    PathList,
    StorageClass,
)
from graveler.server.content_copies import stage_shared, with_own_content
from graveler.server.content_response import content_response
from graveler.server.header_values import header_text
from graveler.server.kept_md5 import metadata_with_etag, shown_checksum, shown_metadata
from graveler.server.overlapped_hashing import UploadHashing
from graveler.server.refusals import refusal
from graveler_core.errors import GravelerError, Kind, NotFound, PredicateFailed
from graveler_core.facade.branch import Branch
from graveler_core.facade.readable_ref import ReadableRef
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType, CommonPrefix, Entry

PRESIGNED_SECONDS: Final = 900
"""Seconds for which a signed URL is valid."""
DEFAULT_CONTENT_TYPE: Final = "application/octet-stream"
_RELATIVE: Final = AddressType.RELATIVE
_USER_METADATA: Final = "x-lakefs-meta-"
_INTERNAL_METADATA: Final = "x-lakefs-internal-"
_RESERVED: Final = "::lakefs::"


def list_objects(call: Call) -> HttpResponse:
    """List entries, or with a delimiter entries and common prefixes."""
    query = call.query
    presign, with_metadata = query.flag("presign"), query.flag("user_metadata", default=True)
    bounds = query.text("prefix"), query.text("after"), query.text("delimiter")

    def page(repo: Repository, ref: ReadableRef) -> HttpResponse:
        root = repo.storage_namespace.rstrip("/")

        def record(item: Entry | CommonPrefix) -> dict[str, object]:
            shown = object_fields(root, item, with_metadata=with_metadata)
            return {**shown, **_presigned(ref, item)} if presign and isinstance(item, Entry) else shown

        found = ref.list(*bounds, call.rows)
        write = partial(call.page, found, record, lambda item: item.path)
        return write() if presign else call.answers.answer(found, (root, *bounds, call.rows, with_metadata), write)

    return call.read(page)


def stat_object(call: Call) -> HttpResponse:
    """Show an entry."""
    path, presign = call.query.required("path"), call.query.flag("presign")
    with_metadata = call.query.flag("user_metadata", default=True)

    def stat(repo: Repository, ref: ReadableRef) -> HttpResponse:
        found = ref.get(path)
        shown = object_record(repo, found, with_metadata=with_metadata)
        signed = _presigned(ref, found) if presign else {}
        return answer(200, shown.model_copy(update={"metadata": shown_metadata(found), **signed}))

    return call.read(stat)


def get_object(call: Call) -> HttpResponse:
    """Answer with the content of an entry, or a range of it; with `presign`, with the address of a signed URL.

    Content that is stored in the entry itself has no URL, and is sent.
    """
    path = call.query.required("path")
    if call.query.flag("presign") and not _is_inline(call.read(lambda _, ref: ref.get(path))):
        return RedirectResponse(call.read(lambda _, ref: ref.presign(path, PRESIGNED_SECONDS)), 302)
    return content_response(call.read(lambda _, ref: ref.open(path)), call.headers)


def head_object(call: Call) -> HttpResponse:
    """Answer with the headers of `get_object`."""
    path = call.query.required("path")
    return content_response(call.read(lambda _, ref: ref.open(path)), call.headers, without_body=True)


def upload_object(call: Call) -> HttpResponse:
    """Store the body of the request, and stage an entry for it.

    With the condition `If-None-Match: *`, one of several concurrent uploads to a path succeeds, and an upload to a path
    that exists is refused before the body is read.
    """
    path = call.query.required("path")
    condition = call.headers.get("if-none-match") or None
    opened = call.open_branch()
    refused = refused_condition(call.headers, "an upload")
    if refused is not None:
        return refused
    branch = opened.branch
    if condition is not None and _exists(branch, path):
        return refusal(412, PATH_EXISTS)
    content_type, content = call.upload()
    hashing = UploadHashing()
    metadata, body = _metadata(call.headers), hashing.passing(content)
    write: Callable[..., Entry] = branch.put if condition is None else partial(branch.upload, to_stage=True)
    staged = write(
        path,
        body,
        content_type=content_type or DEFAULT_CONTENT_TYPE,
        metadata=lambda checksum: metadata_with_etag(metadata, hashing.md5().hex(), checksum),
    )
    try:
        staged = staged if condition is None else branch.stage_if(path, staged, None)
    except PredicateFailed:
        return refusal(412, PATH_EXISTS)
    return answer(201, object_record(opened.repository(), staged))


def delete_object(call: Call) -> HttpResponse:
    """Remove a path. A path that does not exist is no error."""
    if call.headers.get("if-match"):
        return refusal(501, "If-Match: a deletion cannot have a condition")
    call.open_branch().branch.remove(call.query.required("path"))
    return no_content()


def delete_objects(call: Call) -> HttpResponse:
    """Remove many paths: all of them, or those that the user may remove. The answer lists the others.

    The removals are single records. A removal as one layer would use up the layers that a branch may have.
    """
    wanted: PathList = call.body
    branch = call.graveler.repository(call.repository).branch(call.branch)
    failed = []
    try:
        branch.put_many({}, remove=wanted.paths)
    except GravelerError as error:
        if error.kind not in (Kind.AccessDenied, Kind.BranchProtected, Kind.RepositoryReadOnly, Kind.InvalidPath):
            raise
        failed = [each for each in (_removed(branch, path) for path in wanted.paths) if each is not None]
    return answer(200, ObjectErrors(errors=failed))


def copy_object(call: Call) -> HttpResponse | ContentAnswer:
    """Stage an entry of the same content at another path. Content is copied only if it must be."""
    wanted: ObjectCopy = call.body
    if wanted.shallow:
        return refusal(501, "shallow copies: leave it out; every copy within a repository shares its content")
    repo, path = call.graveler.repository(call.repository), call.query.required("dest_path")
    source, branch = repo.at(wanted.src_ref or call.branch), repo.branch(call.branch)
    content = source.open(wanted.src_path)
    shared = stage_shared(partial(branch.stage, path), content.entry)
    if shared is not None:
        return answer(201, object_record(repo, shared))

    def copied() -> HttpResponse:
        own = with_own_content(branch, path, content.entry, content)
        return answer(201, object_record(repo, branch.stage(path, own)))

    return ContentAnswer(copied)


def get_storage_class(call: Call) -> HttpResponse:
    """Answer that no properties are known that the object store gives to the object of an entry."""
    path = call.query.required("path")
    call.read(lambda _, ref: ref.get(path))
    return answer(200, StorageClass())


def object_record(repo: Repository, item: Entry | CommonPrefix, *, with_metadata: bool = True) -> ApiObject:
    """Return an entry or a common prefix as a record of the API."""
    root = repo.storage_namespace.rstrip("/")
    return ApiObject.model_validate(object_fields(root, item, with_metadata=with_metadata))


def object_fields(root: str, item: Entry | CommonPrefix, *, with_metadata: bool) -> dict[str, object]:
    """Return the fields of an `ApiObject` that have a value. Listings need no record of each entry.

    Args:
        root: Storage namespace of the repository, without a slash at the end.
        item: The entry or common prefix.
        with_metadata: Add the metadata of the user, if there are any.
    """
    if isinstance(item, CommonPrefix):
        return {"path": item.path, "path_type": "common_prefix", "physical_address": "", "checksum": "", "mtime": 0}
    address, mtime = item.address, item.mtime
    fields = {
        "path": item.path,
        "path_type": "object",
        # Content that is stored in the entry has no address.
        "physical_address": f"{root}/{address}" if address and item.address_type is _RELATIVE else address or "",
        "checksum": shown_checksum(item),
        "mtime": 0 if mtime is None else int(mtime.timestamp()),
        "size_bytes": item.size,
        "content_type": item.content_type or DEFAULT_CONTENT_TYPE,
    }
    if with_metadata and item.metadata and (metadata := shown_metadata(item)):
        fields["metadata"] = metadata
    return fields


def _presigned(ref: ReadableRef, entry: Entry) -> dict[str, object]:
    """Return the fields of an object with a signed URL instead of the address.

    There are none if the content is stored in the entry itself or was erased, or the entry was removed meanwhile.
    """
    if _is_inline(entry):
        return {}
    end = int(time()) + PRESIGNED_SECONDS
    try:
        return {"physical_address": ref.presign(entry.path, PRESIGNED_SECONDS), "physical_address_expiry": end}
    except NotFound:
        return {}


def _is_inline(entry: Entry) -> bool:
    return entry.address_type is AddressType.INLINE


def content_type_of(entry: Entry) -> str:
    """Return the content type of an entry."""
    return entry.content_type or DEFAULT_CONTENT_TYPE


def seconds_of(moment: datetime | None) -> int:
    """Return a time in seconds since 1970, or 0 for none."""
    return 0 if moment is None else int(moment.timestamp())


def _metadata(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the metadata of an object from the headers of its upload."""
    found = {}
    for name, value in headers.items():
        if name.startswith(_USER_METADATA):
            found[name.removeprefix(_USER_METADATA)] = header_text(value)
        elif name.startswith(_INTERNAL_METADATA):
            found[_RESERVED + name.removeprefix(_INTERNAL_METADATA)] = header_text(value)
    return found


def _exists(branch: Branch, path: str) -> bool:
    try:
        branch.get(path)
    except NotFound as error:
        if error.kind is not Kind.PathNotFound:
            raise
        return False
    return True


def _removed(branch: Branch, path: str) -> ObjectErrorRecord | None:
    """Remove one path. Return the error, if there is one."""
    try:
        branch.remove(path)
    except GravelerError as error:
        return ObjectErrorRecord(status_code=status_of(error), message=message_of(error), path=path)
    return None
