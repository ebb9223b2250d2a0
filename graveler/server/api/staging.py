"""Operations for content that clients store in the object store themselves.

An address of `get_physical_address` ends in a random name that only its client knows. Whoever knows it may stage it,
and the object must exist. Other addresses name objects that exist already, and staging one needs the permission to
import it, or to read the repository to which it belongs.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from time import time
from typing import Final

from starlette.responses import Response as HttpResponse

from graveler.server.api.call import Call, answer
from graveler.server.api.conditions import refused_condition
from graveler.server.api.object_records import ObjectLink, ObjectStaging, StagingLocation
from graveler.server.api.objects import DEFAULT_CONTENT_TYPE, PRESIGNED_SECONDS, object_record
from graveler_core.errors import InvalidInput
from graveler_core.facade.repository import Repository
from graveler_core.model.entry import AddressType, Entry

_HANDED_OUT: Final = re.compile(r"data/[0-9a-f]{32}")


def get_physical_address(call: Call) -> HttpResponse:
    """Answer with a new address for an upload, and with a signed URL for it if `presign` is true."""
    branch = call.graveler.repository(call.repository).branch(call.branch)
    expires = PRESIGNED_SECONDS if call.query.flag("presign") else None
    begun = branch.begin_upload(call.query.required("path"), expires=expires)
    record = StagingLocation(
        physical_address=begun.uri,
        presigned_url=begun.url,
        presigned_url_expiry=None if expires is None else int(time()) + expires,
    )
    return answer(200, record)


def link_physical_address(call: Call) -> HttpResponse:
    """Stage an entry for an object that the client has stored."""
    wanted: ObjectLink = call.body
    repo, path = call.graveler.repository(call.repository), call.query.required("path")
    branch = repo.branch(call.branch)
    condition = call.headers.get("if-none-match") or None
    refused = refused_condition(call.headers, "a link")
    if refused is not None:
        return refused
    address, kind = _address(call, repo, wanted.staging.physical_address)
    entry = Entry(
        address=address,
        address_type=kind,
        size=wanted.size_bytes,
        checksum=_checksum(wanted.checksum),
        mtime=_moment(wanted.mtime),
        content_type=wanted.content_type or DEFAULT_CONTENT_TYPE,
        metadata=wanted.user_metadata,
    )
    if kind is AddressType.RELATIVE and _HANDED_OUT.fullmatch(address):
        return answer(200, object_record(repo, branch.link(path, entry, if_absent=condition is not None)))
    staged = branch.stage_if(path, entry, None) if condition else branch.stage(path, entry)
    return answer(200, object_record(repo, staged))


def stage_object(call: Call) -> HttpResponse:
    """Stage an entry whose content is already in an object store."""
    wanted: ObjectStaging = call.body
    repo = call.graveler.repository(call.repository)
    address, kind = _address(call, repo, wanted.physical_address)
    made = repo.branch(call.branch).stage(
        call.query.required("path"),
        Entry(
            address=address,
            address_type=kind,
            size=wanted.size_bytes,
            checksum=_checksum(wanted.checksum),
            mtime=_moment(wanted.mtime),
            content_type=wanted.content_type or DEFAULT_CONTENT_TYPE,
            metadata=wanted.metadata,
        ),
    )
    return answer(201, object_record(repo, made))


def _checksum(given: str) -> str:
    """Return a checksum without the quotes and spaces of an ETag."""
    checksum = given.strip('" ')
    if not checksum:
        raise InvalidInput("checksum: must not be empty")
    return checksum


def _address(call: Call, repo: Repository, uri: str) -> tuple[str, AddressType]:
    """Return the address of a URI: relative if it is in the storage namespace of the repository.

    Raises:
        InvalidInput: It is outside, and users may not name it.
    """
    namespace = repo.storage_namespace.rstrip("/") + "/"
    if uri.startswith(namespace):
        return uri.removeprefix(namespace), AddressType.RELATIVE
    call.settings.check_address(uri)
    return uri, AddressType.FULL


def _moment(seconds: int | None) -> datetime:
    try:
        return datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError) as error:
        raise InvalidInput(f"mtime {seconds}: must be a number of seconds since 1970 that is a date") from error
