"""Conversion of the errors of etcd to errors of graveler, by the gRPC code and the text of the answer.

The JSON gateway of etcd answers an error with the code and the text of its gRPC interface. The store sends each write
once. etcd reports some failures after it has proposed a write to the cluster, so that the outcome of the write is
unknown although there is an answer.
"""

from __future__ import annotations

from typing import Final

from urllib3.exceptions import ConnectTimeoutError, HTTPError, NewConnectionError

from graveler_core.errors import (
    CorruptData,
    GravelerError,
    Kind,
    LimitExceeded,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)

NOT_SENT: Final = (NewConnectionError, ConnectTimeoutError)
"""Classes of the exceptions after which no byte of a request was sent."""

_Rule = tuple[type[GravelerError], Kind, str]

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the cluster is busy or has no leader")
_FULL: Final[_Rule] = (Unavailable, Kind.StoreFull, "the quota of the database is used up")
_PERHAPS_FULL: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the quota is used up, perhaps by this write")
"""A member applies a write before it compares the size of its database with the quota."""
_TOO_LARGE: Final[_Rule] = (LimitExceeded, Kind.ValueTooLarge, "the cluster does not accept a request of this size")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the server has no JSON gateway of etcd 3.4 or newer")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the cluster denies access")
_CORRUPT: Final[_Rule] = (CorruptData, Kind.CorruptRecord, "the cluster found corrupt data")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the cluster cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the outcome of a write was not reported")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the cluster refuses the request")

_TEXTS: Final[tuple[tuple[str, _Rule], ...]] = (
    ("too many requests", _BUSY),
    ("database space exceeded", _FULL),
    ("request is too large", _TOO_LARGE),
    ("larger than max", _TOO_LARGE),
    ("not supported for learner", _OTHER),
    ("authentication is not enabled", _OTHER),
    ("invalid user ID or password", _DENIED),
    ("user name is empty", _DENIED),
    ("user name not found", _DENIED),
    ("revision of auth store is old", _DENIED),
)
"""Rules by a part of the text, which come before those by the code."""
_INVALID_ARGUMENT, _NOT_FOUND, _PERMISSION_DENIED, _OUT_OF_RANGE = 3, 5, 7, 11
_UNIMPLEMENTED, _DATA_LOSS, _UNAUTHENTICATED = 12, 15, 16
_CODES: Final[dict[int, _Rule]] = {
    _INVALID_ARGUMENT: _OTHER,
    _NOT_FOUND: _OTHER,
    _PERMISSION_DENIED: _DENIED,
    _OUT_OF_RANGE: _OTHER,
    _UNIMPLEMENTED: _FOREIGN,
    _DATA_LOSS: _CORRUPT,
    _UNAUTHENTICATED: _DENIED,
}
"""Rules by the gRPC code. With any other code, the request may have been executed."""
_OLD_TOKENS: Final = ("invalid auth token", "revision of auth store is old")


def refused(code: int | None, status: int, text: str, where: str, *, writing: bool) -> GravelerError:
    """Return the error for an answer that is not a success.

    Args:
        code: gRPC code of the answer, or `None` if the answer is not from etcd.
        status: HTTP status of the answer.
        text: Text of the answer.
        where: URL of the store without secrets, for the message.
        writing: True if the request writes.
    """
    rule = next((rule for part, rule in _TEXTS if part in text), None)
    if rule is None and code is not None:
        rule = _CODES.get(code)
    elif rule is None and status < 500:
        rule = _FOREIGN
    elif rule is _FULL and writing:
        rule = _PERHAPS_FULL
    error_class, kind, what = rule or (_UNKNOWN if writing else _BUSY)
    return error_class(f"{what}: {where}: {text.strip()[:200]}", kind=kind, store=where, code=code)


def concerns_member(code: int | None, status: int) -> bool:
    """Return true if another member of the cluster may accept the request, for example if this one has no leader.

    Args:
        code: gRPC code of the answer, or `None` if the answer is not from etcd.
        status: HTTP status of the answer.
    """
    return status >= 500 if code is None else code not in _CODES


def failed(error: HTTPError, where: str, *, writing: bool) -> GravelerError:
    """Return the error for a request without an answer.

    Args:
        error: Exception of urllib3.
        where: URL of the store without secrets, for the message.
        writing: True if the request writes.
    """
    error_class, kind, what = _UNKNOWN if writing and not isinstance(error, NOT_SENT) else _LOST
    return error_class(f"{what}: {where}: {_first_line(error)}", kind=kind, store=where)


def needs_new_token(text: str) -> bool:
    """Return true if the cluster refused a request only because its token of authentication is too old."""
    return any(part in text for part in _OLD_TOKENS)


def _first_line(error: HTTPError) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__
