"""Turns between the processes that share a PostgreSQL database, as advisory locks.

The server queues the processes in order of arrival, and releases the lock of a session that ends. After half a minute
without data, it sends TCP keepalive probes to the machine of the holder, instead of after two hours, the usual default.
The lock belongs to a transaction that does nothing else, so that it also works with a proxy that shares sessions. Turns
use at most a few sessions. If no session is free, the wait is too long, or an error occurs, the caller goes on without
a turn, because turns only improve speed and fairness.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.postgresql.sessions import ConnectionTarget, Sessions
from graveler_core.kv.backends.sessions import Room

_ROOM: Final = Room(kept=4, more=4, seconds=0)
_TAKE: Final = (
    "BEGIN;"
    " SELECT set_config('lock_timeout', %s, true), set_config('tcp_keepalives_idle', '30', true),"
    " set_config('tcp_keepalives_interval', '10', true), set_config('tcp_keepalives_count', '3', true);"
    " SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || %s, 0))"
)
"""Statements that take the lock, sent at once. A pipeline of psycopg would write to the log if the session ends in it.
The key of the lock includes the schema, because a database can have stores in several schemas.
"""
_END: Final = "COMMIT"
_FAILURES: Final = (psycopg.Error, SQLAlchemyError, GravelerError)


class AdvisoryTurns:
    """Turns of one database."""

    def __init__(self, target: ConnectionTarget) -> None:
        self._sessions = Sessions(target, _ROOM)

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Wait at most `patience` seconds for a turn in a named queue, and hold it inside the `with` statement."""
        session = self._take(name, patience)
        try:
            yield
        finally:
            if session is not None:
                _give(session)

    def close(self) -> None:
        """Close the sessions. Later callers go on without a turn."""
        self._sessions.close()

    def _take(self, name: str, patience: float) -> PoolProxiedConnection | None:
        with suppress(*_FAILURES):
            session = self._sessions.take()
            try:
                connection = cast("psycopg.Connection[Any]", session.driver_connection)
                limit = f"{max(int(patience * 1000), 1)}ms"
                psycopg.ClientCursor(connection).execute(_TAKE, (limit, name))
            except BaseException:
                session.invalidate()
                session.close()
                raise
            return session
        return None


def _give(session: PoolProxiedConnection) -> None:
    try:
        cast("psycopg.Connection[Any]", session.driver_connection).execute(_END)
    except psycopg.Error:
        session.invalidate()
    except BaseException:
        session.invalidate()
        raise
    finally:
        session.close()
