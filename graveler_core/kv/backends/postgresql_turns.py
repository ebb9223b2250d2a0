"""Turns between the processes that share a PostgreSQL database: who holds an advisory lock has the turn.

The server queues them first come, first served, and takes the lock back from a session that ends. It is held by a
transaction that does nothing else, so that it also ends where sessions are shared by a proxy. At most a few sessions
are spent on turns; who finds none, waits too long or meets an error goes on without: for speed and fairness alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import psycopg
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.postgresql_sessions import Room, Sessions, Target

_ROOM: Final = Room(kept=4, more=4, seconds=0)
_BEGIN: Final = "BEGIN"
_PATIENCE: Final = "SELECT set_config('lock_timeout', %s, true)"
_LOCK: Final = "SELECT pg_advisory_xact_lock(hashtextextended(current_schema() || '/' || %s, 0))"
"""Locks belong to a database, which may hold several stores in schemas of their own."""
_END: Final = "COMMIT"
_FAILURES: Final = (psycopg.Error, SQLAlchemyError, GravelerError)


class AdvisoryTurns:
    """The turns of one database."""

    def __init__(self, target: Target) -> None:
        self._sessions = Sessions(target, _ROOM)

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Wait at most `patience` seconds for the turn under a name, and keep it inside the `with` statement."""
        session = self._take(name, patience)
        try:
            yield
        finally:
            if session is not None:
                _give(session)

    def close(self) -> None:
        """Close the sessions; who comes later goes on without."""
        self._sessions.close()

    def _take(self, name: str, patience: float) -> PoolProxiedConnection | None:
        with suppress(*_FAILURES):
            session = self._sessions.take()
            try:
                connection = cast("psycopg.Connection[Any]", session.driver_connection)
                with connection.pipeline():  # one round trip
                    connection.execute(_BEGIN)
                    connection.execute(_PATIENCE, (f"{max(int(patience * 1000), 1)}ms",))
                    connection.execute(_LOCK, (name,))
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
