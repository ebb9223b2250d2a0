"""Conversion of the errors of redis-py to errors of graveler, by their class and the code of the answer."""

from __future__ import annotations

import re
from typing import Final

from redis import exceptions

from graveler_core.errors import (
    GravelerError,
    Kind,
    LimitExceeded,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)

_Rule = tuple[type[GravelerError], Kind, str]

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the server is busy")
_READ_ONLY: Final[_Rule] = (Unavailable, Kind.StoreReadOnly, "the server does not accept writes")
_FULL: Final[_Rule] = (Unavailable, Kind.StoreFull, "the server's memory is full")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the namespace does not contain a graveler store")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the server denies access")
_TOO_LARGE: Final[_Rule] = (LimitExceeded, Kind.ValueTooLarge, "the server does not accept a request of this size")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the connection failed during a write")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server refuses the command")

_CODES: Final[dict[str, _Rule]] = {
    "BUSY": _BUSY,
    "CLUSTERDOWN": _BUSY,
    "LOADING": _BUSY,
    "MASTERDOWN": _BUSY,
    "MISCONF": _READ_ONLY,
    "NOAUTH": _DENIED,
    "NOPERM": _DENIED,
    "NOREPLICAS": _READ_ONLY,
    "OOM": _FULL,
    "READONLY": _READ_ONLY,
    "TRYAGAIN": _BUSY,
    "WRONGPASS": _DENIED,
    "WRONGTYPE": _FOREIGN,
}
"""Rules by the code of an answer. The server has changed nothing."""
_CODE: Final = re.compile(rf"(?:^|-)({'|'.join(_CODES)})\b")
"""Code at the beginning of an answer or, from older servers, in the answer of a script that was refused."""
_CLASSES: Final[tuple[tuple[tuple[type[Exception], ...], _Rule], ...]] = (
    ((exceptions.BusyLoadingError, exceptions.MaxConnectionsError, exceptions.TryAgainError), _BUSY),
    ((exceptions.ClusterDownError,), _BUSY),
    ((exceptions.AuthenticationError, exceptions.AuthorizationError, exceptions.NoPermissionError), _DENIED),
    ((exceptions.AuthenticationWrongNumberOfArgsError,), _DENIED),
    ((exceptions.OutOfMemoryError,), _FULL),
    ((exceptions.ReadOnlyError,), _READ_ONLY),
)
"""Rules by the class of an error. redis-py removes the code from the text of these errors."""
_ALL_IN_USE: Final = ("max number of clients reached", "No connection available")


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an error of redis-py.

    Args:
        error: The error of redis-py.
        where: URL without the password, for the message.
        writing: True if a write had been sent when the error occurred, so that its outcome may be unknown.
    """
    error_class, kind, what = _rule(error, writing)
    text = str(error).strip().partition("\n")[0] or type(error).__name__
    return error_class(f"{what}: {where}: {text}", kind=kind, store=where)


def _rule(error: Exception, writing: bool) -> _Rule:
    for classes, rule in _CLASSES:
        if isinstance(error, classes):
            return rule
    if any(text in str(error) for text in _ALL_IN_USE):
        return _BUSY
    if isinstance(error, exceptions.ResponseError):
        return _of_answer(str(error))
    if isinstance(error, exceptions.ConnectionError | exceptions.TimeoutError | exceptions.InvalidResponse | OSError):
        return _UNKNOWN if writing else _LOST
    return _OTHER


def _of_answer(text: str) -> _Rule:
    found = _CODE.search(text)
    if found is not None:
        return _CODES[found[1]]
    return _TOO_LARGE if "invalid bulk length" in text else _OTHER
