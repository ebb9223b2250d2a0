"""Conversion of the errors of PyMySQL and of the connection pool to errors of graveler, by their number."""

from __future__ import annotations

from typing import Final

import pymysql
from pymysql.constants import CR, ER
from sqlalchemy.exc import SQLAlchemyError
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

RETRIED: Final = frozenset((ER.LOCK_DEADLOCK,))
"""Errors after which the transaction was rolled back and can be retried."""

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

_IDLE_SESSION_ENDED: Final = 4031
_KILLED: Final = 1927
_SLOW_STATEMENT: Final = (1969, 3024)
_TOO_MANY_TRANSACTIONS: Final = 1637
_READ_ONLY_SERVER: Final = (1792, 1836, 1874)
_CORRUPT_INDEX: Final = 1712
_REFUSED_ACCOUNT: Final = (1698, 1820, 1862, 3118, 4151)
"""Errors that PyMySQL has no name for. Some of them exist in only one of the two servers."""

_ERRORS: Final[dict[int, _Rule]] = {
    **dict.fromkeys(
        (
            ER.CON_COUNT_ERROR,
            ER.LOCK_DEADLOCK,
            ER.LOCK_TABLE_FULL,
            ER.LOCK_WAIT_TIMEOUT,
            ER.OUTOFMEMORY,
            ER.OUT_OF_RESOURCES,
            ER.OUT_OF_SORTMEMORY,
            ER.TOO_MANY_USER_CONNECTIONS,
            ER.UNKNOWN_COM_ERROR,  # a node of a Galera cluster that is not ready
            ER.USER_LIMIT_REACHED,
            _TOO_MANY_TRANSACTIONS,
            *_SLOW_STATEMENT,
        ),
        _BUSY,
    ),
    **dict.fromkeys(
        (
            ER.CANT_UPDATE_WITH_READLOCK,
            ER.OPEN_AS_READONLY,
            ER.OPTION_PREVENTS_STATEMENT,
            *_READ_ONLY_SERVER,
        ),
        _READ_ONLY,
    ),
    **dict.fromkeys((ER.DISK_FULL, ER.RECORD_FILE_FULL), _FULL),
    **dict.fromkeys((ER.BAD_DB_ERROR, ER.BAD_FIELD_ERROR, ER.NO_SUCH_TABLE), _FOREIGN),
    **dict.fromkeys(
        (
            ER.CRASHED_ON_REPAIR,
            ER.CRASHED_ON_USAGE,
            ER.NOT_FORM_FILE,
            ER.NOT_KEYFILE,
            ER.OLD_KEYFILE,
            _CORRUPT_INDEX,
        ),
        _CORRUPT,
    ),
    **dict.fromkeys(
        (
            ER.ACCESS_DENIED_ERROR,
            ER.COLUMNACCESS_DENIED_ERROR,
            ER.DBACCESS_DENIED_ERROR,
            ER.HOST_IS_BLOCKED,
            ER.HOST_NOT_PRIVILEGED,
            ER.SPECIFIC_ACCESS_DENIED_ERROR,
            ER.TABLEACCESS_DENIED_ERROR,
            *_REFUSED_ACCOUNT,
        ),
        _DENIED,
    ),
    **dict.fromkeys((ER.DATA_TOO_LONG, ER.NET_PACKET_TOO_LARGE, ER.TOO_BIG_ROWSIZE, ER.TOO_LONG_KEY), _TOO_LARGE),
}
_INTERRUPTED: Final = frozenset(
    (
        ER.ABORTING_CONNECTION,
        ER.ERROR_DURING_COMMIT,
        ER.ERROR_ON_WRITE,
        ER.GET_ERRNO,
        ER.NET_ERROR_ON_WRITE,
        ER.NET_FCNTL_ERROR,
        ER.NET_PACKETS_OUT_OF_ORDER,
        ER.NET_READ_ERROR,
        ER.NET_READ_INTERRUPTED,
        ER.NET_WRITE_INTERRUPTED,
        ER.NEW_ABORTING_CONNECTION,
        ER.NORMAL_SHUTDOWN,
        ER.QUERY_INTERRUPTED,
        ER.SERVER_SHUTDOWN,
        ER.SHUTDOWN_COMPLETE,
        ER.UNKNOWN_ERROR,
        _IDLE_SESSION_ENDED,
        _KILLED,
    )
)
"""Errors of the server after which the outcome of a write is unknown."""
_BEFORE_SENDING: Final = frozenset((CR.CR_CONNECTION_ERROR, CR.CR_CONN_HOST_ERROR, CR.CR_UNKNOWN_HOST))
"""Errors of the client that happen while it connects."""


def mapped(error: Exception, where: str, *, writing: bool) -> GravelerError:
    """Return the error of graveler for an error of PyMySQL or SQLAlchemy.

    Args:
        error: The error of PyMySQL or SQLAlchemy.
        where: Server and database without the password, for the message.
        writing: True if a write had been sent when the error occurred, so that its outcome may be unknown.
    """
    error_class, kind, what = _rule(error, writing)
    return error_class(f"{what}: {where}: {_text(error)}", kind=kind, store=where, state=code_of(error))


def code_of(error: BaseException) -> int | None:
    """Return the number of an error of the server or of PyMySQL, or `None` if it has none."""
    code = error.args[0] if error.args else None
    return code if isinstance(code, int) else None


def is_lost(error: Exception) -> bool:
    """Return true if the connection cannot be used again."""
    code = code_of(error)
    if code is None or code < ER.ERROR_FIRST or CR.CR_ERROR_FIRST <= code <= CR.CR_ERROR_LAST:
        return isinstance(error, pymysql.OperationalError | pymysql.InterfaceError | pymysql.InternalError)
    return code in _INTERRUPTED or code == ER.NET_PACKET_TOO_LARGE


def _rule(error: Exception, writing: bool) -> _Rule:
    if isinstance(error, PoolTimeout):
        return _BUSY
    if isinstance(error, SQLAlchemyError) or not isinstance(error, pymysql.Error):
        return _OTHER
    code = code_of(error)
    if code in _BEFORE_SENDING:
        return _LOST
    if code in _INTERRUPTED or (is_lost(error) and code != ER.NET_PACKET_TOO_LARGE):
        return _UNKNOWN if writing else _LOST
    return _ERRORS.get(code or 0, _OTHER)


def _text(error: Exception) -> str:
    text = error.args[1] if code_of(error) is not None and len(error.args) > 1 else error
    return str(text).strip().partition("\n")[0] or type(error).__name__
