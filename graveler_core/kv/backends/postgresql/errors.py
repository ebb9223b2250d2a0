"""Conversion of the errors of psycopg and of the connection pool to errors of graveler, by their SQLSTATE."""

from __future__ import annotations

from typing import Final

import psycopg
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

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

_Rule = tuple[type[GravelerError], Kind, str]

RETRIED: Final = frozenset(("40001", "40P01"))
"""SQLSTATEs of serialization failures and deadlocks, after which the transaction was rolled back and can be retried."""

_BUSY: Final[_Rule] = (SlowDown, Kind.StoreBusy, "the server is busy")
_READ_ONLY: Final[_Rule] = (Unavailable, Kind.StoreReadOnly, "the server does not accept writes")
_FULL: Final[_Rule] = (Unavailable, Kind.StoreFull, "the server's disk is full")
_FOREIGN: Final[_Rule] = (Unavailable, Kind.NotAGravelerStore, "the database does not contain a graveler store")
_CORRUPT: Final[_Rule] = (CorruptData, Kind.CorruptRecord, "the server found corrupt data")
_DENIED: Final[_Rule] = (PermissionDenied, Kind.PermissionDenied, "the server denies access")
_TOO_LARGE: Final[_Rule] = (LimitExceeded, Kind.ValueTooLarge, "the server does not accept a row of this size")
_LOST: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server cannot be reached")
_UNKNOWN: Final[_Rule] = (OutcomeUnknown, Kind.OutcomeUnknown, "the connection failed during a write")
_OTHER: Final[_Rule] = (Unavailable, Kind.StoreUnreachable, "the server refuses the statement")

_STATES: Final[dict[str, _Rule]] = {
    "25006": _READ_ONLY,
    "40001": _BUSY,
    "40P01": _BUSY,
    "42501": _DENIED,
    "42703": _FOREIGN,
    "42P01": _FOREIGN,
    "53100": _FULL,
    "55006": _BUSY,
    "55P03": _BUSY,
    "57014": _BUSY,
    "57P03": _BUSY,
}
_CLASSES: Final[dict[str, _Rule]] = {
    "28": _DENIED,
    "40": _BUSY,
    "53": _BUSY,
    "54": _TOO_LARGE,
    "F0": _CORRUPT,
    "XX": _CORRUPT,
}
_INTERRUPTED: Final = frozenset(("40003", "57P01", "57P02", "57P04", "57P05", "25P03", "25P04", "58030", "XX000"))
"""SQLSTATEs after which the outcome of a write is unknown."""


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an error of psycopg or SQLAlchemy.

    Args:
        error: The psycopg or SQLAlchemy error.
        where: Server and database without the password, for the message.
        writing: True if a write had been sent when the error occurred, so that its outcome may be unknown.
    """
    cause = error.orig if isinstance(error, DBAPIError) and error.orig is not None else error
    error_class, kind, what = _rule(cause, writing)
    state = getattr(cause, "sqlstate", None)
    return error_class(f"{what}: {where}: {_first_line(cause)}", kind=kind, store=where, state=state)


def is_lost(error: Exception) -> bool:
    """Return true if the connection cannot be used again."""
    state = getattr(error, "sqlstate", None)
    if state is None:
        return isinstance(error, psycopg.OperationalError | psycopg.InterfaceError)
    return state.startswith(("08", "57P")) or state in {"25P03"}


def _rule(cause: BaseException, writing: bool) -> _Rule:
    if isinstance(cause, PoolTimeout):
        return _BUSY
    if isinstance(cause, SQLAlchemyError) or not isinstance(cause, psycopg.Error):
        return _OTHER
    state = cause.sqlstate
    if state is None:
        lost = isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError | psycopg.InternalError)
        return _OTHER if not lost else _UNKNOWN if writing else _LOST
    if state in _INTERRUPTED or state.startswith("08"):
        return _UNKNOWN if writing else _LOST
    return _STATES.get(state) or _CLASSES.get(state[:2]) or _OTHER


def _first_line(cause: BaseException) -> str:
    return str(cause).strip().partition("\n")[0] or type(cause).__name__
