"""Turns between the processes that share a MySQL or MariaDB database, as named locks of the server.

The server releases the lock of a session that ends, and ends a session whose client has been silent for some minutes.
Turns use at most a few sessions. If no session is free, the wait is too long, or an error occurs, the caller goes on
without a turn, because turns only improve speed and fairness. The server answers before the time-out of reads, so that
a connection over which nothing arrives any more delays a caller no longer than any other read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, cast

import pymysql
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import PoolProxiedConnection

from graveler_core.errors import GravelerError
from graveler_core.kv.backends.mysql.sessions import MySQLSessions, MySQLTarget
from graveler_core.kv.backends.sessions import Room

_ROOM: Final = Room(kept=4, more=4, seconds=0)
_SHARE: Final = 0.9
"""Share of the time-out of reads for which a session waits for a lock at most."""
_IDLE_SECONDS: Final = 600
"""Time after which the server ends a session that sends nothing. A flow that takes longer loses its turn."""
_FAILURES: Final = (pymysql.Error, SQLAlchemyError, GravelerError)


class NamedLockTurns:
    """Turns of one database."""

    def __init__(self, target: MySQLTarget) -> None:
        self._database = target.database
        self._longest = _SHARE * target.read_timeout
        self._sessions = MySQLSessions(target, _ROOM, _IDLE_SECONDS)

    @contextmanager
    def turn(self, name: str, patience: float) -> Iterator[None]:
        """Wait at most `patience` seconds for a turn in a named queue, and hold it inside the `with` statement."""
        lock = lock_name(self._database, f"turn/{name}")
        session = self._take(lock, patience)
        try:
            yield
        finally:
            if session is not None:
                _give(session, lock)

    def close(self) -> None:
        """Close the sessions. Later callers go on without a turn."""
        self._sessions.close()

    def _take(self, lock: str, patience: float) -> PoolProxiedConnection | None:
        with suppress(*_FAILURES):
            session = self._sessions.take()
            try:
                with cast("pymysql.Connection[Any]", session.driver_connection).cursor() as cursor:
                    cursor.execute("SELECT get_lock(%s, %s)", (lock, min(patience, self._longest)))
                    taken = cursor.fetchone() == (1,)
            except BaseException:
                session.invalidate()
                session.close()
                raise
            if taken:
                return session
            session.close()
        return None


def lock_name(database: str, name: str) -> str:
    """Return the name of a lock: the locks of a server are shared by its databases, and names have 64 characters."""
    return "graveler/" + hashlib.blake2b(f"{database}/{name}".encode(), digest_size=16).hexdigest()


def _give(session: PoolProxiedConnection, lock: str) -> None:
    try:
        with cast("pymysql.Connection[Any]", session.driver_connection).cursor() as cursor:
            cursor.execute("SELECT release_lock(%s)", (lock,))
    except pymysql.Error:
        session.invalidate()
    except BaseException:
        session.invalidate()
        raise
    finally:
        session.close()
