"""Conditions of requests: `If-Match`, `If-None-Match`, `If-Modified-Since`, `If-Unmodified-Since`."""

from __future__ import annotations

from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from graveler.server.entity_tags import names_tag
from graveler.server.s3.object_metadata import etag_of, modified
from graveler.server.s3.refusals import S3Refusal, not_implemented
from graveler.server.s3.request import S3Request
from graveler_core.model.entry import Entry


def failed_read(request: S3Request, entry: Entry, prefix: str = "") -> int | None:
    """Return the status that answers a read whose condition fails, or `None`.

    Args:
        request: The request.
        entry: The entry to read.
        prefix: Beginning of the names of the headers, for the source of a copy.
    """
    match, none_match = request.header(f"{prefix}if-match"), request.header(f"{prefix}if-none-match")
    if match is not None:
        if not _matches(match, entry, strong=True):
            return 412
    elif _older(request.header(f"{prefix}if-unmodified-since"), entry):
        return 412
    if none_match is not None:
        return 304 if _matches(none_match, entry) else None
    since = _time(request.header(f"{prefix}if-modified-since"))
    return 304 if since is not None and _seconds(entry) <= since else None


def is_conditional_write(request: S3Request) -> bool:
    """Return true if a write has a condition.

    Raises:
        S3Refusal: The condition is not one that writes can have.
    """
    none_match = request.header("if-none-match") or None  # some clients send an empty header
    if none_match not in (None, "*"):
        raise not_implemented(f"If-None-Match {none_match[:80]!r} of a write")
    if none_match and request.header("if-match"):
        raise S3Refusal(400, "InvalidArgument", "only one of If-Match and If-None-Match may be given")
    return bool(none_match or request.header("if-match"))


def require_write(request: S3Request, current: Entry | None) -> None:
    """Refuse a write whose condition fails.

    Args:
        request: The request.
        current: Entry at the path, or `None`.

    Raises:
        S3Refusal: The condition fails.
    """
    match = request.header("if-match")
    if request.header("if-none-match") and current is not None:
        raise precondition_failed()
    if match is not None and current is None:
        raise S3Refusal(404, "NoSuchKey", "If-Match: the key does not exist")
    if match is not None and current is not None and not _matches(match, current, strong=True):
        raise precondition_failed()


def refuse_condition_of_deletion(request: S3Request) -> None:
    """Refuse a deletion with a condition, because the engine has no such deletion.

    Raises:
        S3Refusal: The request has a condition.
    """
    for name in ("if-match", "x-amz-if-match-last-modified-time", "x-amz-if-match-size"):
        if request.header(name):
            raise not_implemented(f"{name} of a deletion")


def precondition_failed() -> S3Refusal:
    """Return the refusal of a request whose condition fails."""
    return S3Refusal(412, "PreconditionFailed", "at least one of the conditions of the request does not hold")


def _matches(header: str, entry: Entry, *, strong: bool = False) -> bool:
    return names_tag(header, f'"{etag_of(entry)}"', strong=strong)


def _older(header: str | None, entry: Entry) -> bool:
    """Return true if a time is before the last change of an entry."""
    moment = _time(header)
    return moment is not None and _seconds(entry) > moment


def _time(header: str | None) -> datetime | None:
    """Return the time of a header; `None` if it is missing or malformed, which HTTP ignores."""
    try:
        found = None if header is None else parsedate_to_datetime(header)
    except (ValueError, OverflowError):
        return None
    if found is None:
        return None
    return found.replace(tzinfo=UTC) if found.tzinfo is None else found


def _seconds(entry: Entry) -> datetime:
    return modified(entry).replace(microsecond=0)
