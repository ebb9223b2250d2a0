"""Conversion of the errors of Bigtable to errors of graveler, by the gRPC code of the answer.

The store sends each write once. After a code that means a refusal, or without a connection, nothing was written. After
every other code, the outcome of a write is unknown.
"""

from __future__ import annotations

from typing import Any, Final

from google.api_core.exceptions import GoogleAPIError
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError
from grpc import RpcError, StatusCode

from graveler_core.errors import (
    CorruptData,
    GravelerError,
    Kind,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)

FAILURES: Final = (GoogleAPIError, GoogleAuthError, RpcError)
"""The classes of all exceptions that a request can raise."""

_Rule = tuple[type[GravelerError], Kind, str]

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the service is busy, or the connection failed")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the service denies access")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the table does not exist")
_CORRUPT: Final[_Rule] = (CorruptData, Kind.CorruptRecord, "the service found corrupt data")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the service cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the outcome of a write was not reported")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the service refuses the request")

_REFUSALS: Final[dict[StatusCode, _Rule]] = {
    StatusCode.INVALID_ARGUMENT: _OTHER,
    StatusCode.NOT_FOUND: _FOREIGN,
    StatusCode.ALREADY_EXISTS: _OTHER,
    StatusCode.PERMISSION_DENIED: _DENIED,
    StatusCode.RESOURCE_EXHAUSTED: _BUSY,
    StatusCode.FAILED_PRECONDITION: _OTHER,
    StatusCode.OUT_OF_RANGE: _OTHER,
    StatusCode.UNIMPLEMENTED: _OTHER,
    StatusCode.UNAUTHENTICATED: _DENIED,
}
"""Codes with which the service refuses a request: nothing was written."""
_OF_READS: Final[dict[StatusCode, _Rule]] = {
    StatusCode.DATA_LOSS: _CORRUPT,
    StatusCode.DEADLINE_EXCEEDED: _LOST,
    StatusCode.CANCELLED: _LOST,
}
"""Rules of other codes for reads. After any other one, such as that of a lost connection, a read may be repeated."""
_NOT_SENT: Final = (
    "failed to connect to all addresses",
    "connections to all backends failing",
    "DNS resolution failed",
    "Getting metadata from plugin failed",
)
"""Parts of messages of gRPC with the code UNAVAILABLE. They mean that there was no connection or no credentials."""
_BY_NUMBER: Final = {code.value[0]: code for code in StatusCode}


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an exception of the client.

    Args:
        error: The exception.
        where: URL of the table, for the message.
        writing: True if the request writes, so that its outcome may be unknown.
    """
    code = _code(error)
    if isinstance(error, DefaultCredentialsError):
        rule = _DENIED
    elif isinstance(error, GoogleAuthError) or (code is StatusCode.UNAVAILABLE and not _was_sent(error)):
        rule = _LOST
    else:
        rule = _by_code(code, writing)
    return _made(rule, code, str(error) or type(error).__name__, where)


def refused(number: int, text: str, where: str) -> GravelerError:
    """Return the error for a row of a bulk write that was not written.

    Args:
        number: Number of the code.
        text: Text of the answer.
        where: URL of the table, for the message.
    """
    code = _BY_NUMBER.get(number)
    return _made(_by_code(code, writing=True), code, text, where)


def is_refused(error: GravelerError, code: StatusCode) -> bool:
    """Return true if the service has refused a request with this code."""
    return bool(error.details.get("code") == code.name)


def needs_new_connection(error: Exception) -> bool:
    """Return true if no answer arrived in time, or if there was no connection."""
    code = _code(error)
    return code is StatusCode.DEADLINE_EXCEEDED or (code is StatusCode.UNAVAILABLE and not _was_sent(error))


def _code(error: Exception) -> StatusCode | None:
    code: Any = getattr(error, "grpc_status_code", None)
    if code is None and isinstance(error, RpcError):
        told = getattr(error, "code", None)
        code = told() if callable(told) else None
    return code if isinstance(code, StatusCode) else None


def _was_sent(error: Exception) -> bool:
    return not any(part in str(error) for part in _NOT_SENT)


def _by_code(code: StatusCode | None, writing: bool) -> _Rule:
    if code in _REFUSALS:
        return _REFUSALS[code]
    if writing:
        return _UNKNOWN
    return _LOST if code is None else _OF_READS.get(code, _BUSY)


def _made(rule: _Rule, code: StatusCode | None, text: str, where: str) -> GravelerError:
    error_class, kind, what = rule
    line = text.strip().partition("\n")[0][:300]
    return error_class(f"{what}: {where}: {line}", kind=kind, store=where, code=None if code is None else code.name)
