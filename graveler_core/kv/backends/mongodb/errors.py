"""Conversion of the errors of MongoDB and PyMongo to errors of graveler, by the code of the server or the class.

The store sends each write once. The outcome of a write is unknown after every error that is not known to be a refusal:
a server can report an interruption after it has written, and a missing write concern means that it has.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from bson.errors import BSONError, InvalidDocument
from pymongo.errors import (
    AutoReconnect,
    ConfigurationError,
    DocumentTooLarge,
    InvalidName,
    NotPrimaryError,
    OperationFailure,
    PyMongoError,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)

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

FAILURES: Final = (PyMongoError, BSONError)
"""The classes of all exceptions that a command can raise."""
DUPLICATE_KEY: Final = 11_000

_Rule = tuple[type[GravelerError], Kind, str]

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the server is busy or not the primary")
_FULL: Final[_Rule] = (Unavailable, Kind.StoreFull, "the server has no space left")
_TOO_LARGE: Final[_Rule] = (LimitExceeded, Kind.ValueTooLarge, "the server does not accept a document of this size")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the server denies access")
_CORRUPT: Final[_Rule] = (CorruptData, Kind.CorruptRecord, "the server found corrupt data")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the outcome of a write was not reported")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server refuses the command")

_CODES: Final[dict[int, _Rule]] = {
    # Refused before anything was written.
    **dict.fromkeys((24, 46, 112, 462, 10_058, 10_107, 13_435, 13_436, 16_500, DUPLICATE_KEY), _BUSY),
    **dict.fromkeys((11, 13, 18, 31, 33, 391), _DENIED),
    14_031: _FULL,
    **dict.fromkeys((10_334, 17_280), _TOO_LARGE),
    **dict.fromkeys((2, 9, 14, 20, 26, 48, 59, 72, 73, 76, 115, 121, 123, 148), _OTHER),
    305: _CORRUPT,
}
"""Rules by the code of the server. With any other code, a write may have been executed.

11000 is the collision of two writes that create the same key. Where it means a lost race, the store does not ask here.
"""
_ATLAS: Final = 8_000
_ATLAS_TEXTS: Final = (("quota", _FULL), ("auth", _DENIED), ("not allowed", _DENIED))
"""Rules by the text of an answer with the code that MongoDB Atlas uses for all of its own errors."""
_NOT_SENT: Final = (
    ConfigurationError,
    DocumentTooLarge,
    InvalidDocument,
    InvalidName,
    ServerSelectionTimeoutError,
    WaitQueueTimeoutError,
)
"""Classes of the exceptions after which nothing was sent."""


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an exception of PyMongo.

    Args:
        error: The exception.
        where: URL of the store without secrets, for the message.
        writing: True if a write had been sent when the error occurred, so that its outcome may be unknown.
    """
    code = _code(error)
    return _made(_rule(error, code, writing), code, _first_line(str(error)) or type(error).__name__, where)


def refused(answer: Mapping[str, Any], where: str) -> GravelerError:
    """Return the error for a write that the server reports as not done, in an answer to a command.

    Args:
        answer: The part of the answer about this write.
        where: URL of the store without secrets, for the message.
    """
    code, text = int(answer.get("code", 0)), str(answer.get("errmsg", ""))
    return _made(_by_code(code, text) or _UNKNOWN, code, _first_line(text), where)


def not_confirmed(answer: Mapping[str, Any], where: str) -> GravelerError:
    """Return the error for a write that was done on the primary, but not confirmed by most members.

    Args:
        answer: Part of the answer of the server about the write concern.
        where: URL of the store without secrets, for the message.
    """
    return _made(_UNKNOWN, answer.get("code"), _first_line(str(answer.get("errmsg"))), where)


def without_answer(error: Exception | None) -> bool:
    """Return true if no answer arrived to a command that a server may have received."""
    return isinstance(error, AutoReconnect) and not isinstance(error, (NotPrimaryError, ServerSelectionTimeoutError))


def _code(error: Exception) -> int | None:
    if isinstance(error, OperationFailure):
        return error.code
    details = error.details if isinstance(error, NotPrimaryError) else None
    return details.get("code") if isinstance(details, Mapping) else None


def _rule(error: Exception, code: int | None, writing: bool) -> _Rule:
    if isinstance(error, NotPrimaryError | OperationFailure):
        return _by_code(code, str(error)) or (_UNKNOWN if writing else _BUSY)
    if isinstance(error, WaitQueueTimeoutError):
        return _BUSY
    if isinstance(error, DocumentTooLarge):
        return _TOO_LARGE
    if isinstance(error, _NOT_SENT):
        return _LOST
    return _UNKNOWN if writing else _LOST


def _by_code(code: int | None, text: str) -> _Rule | None:
    if code == _ATLAS:
        return next((rule for part, rule in _ATLAS_TEXTS if part in text), None)
    return _CODES.get(code or 0)


def _made(rule: _Rule, code: int | None, text: str, where: str) -> GravelerError:
    error_class, kind, what = rule
    return error_class(f"{what}: {where}: {text}", kind=kind, store=where, code=code)


def _first_line(text: str) -> str:
    return text.strip().partition("\n")[0].partition(", full error:")[0][:300]
