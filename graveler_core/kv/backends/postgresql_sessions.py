"""Pooled sessions on a PostgreSQL database, with the settings that the guarantees of the store require.

The settings do not depend on the defaults of the server:

* READ COMMITTED, because each method is one statement, and its predicates must be evaluated on the newest row.
* `synchronous_commit` is at least `local`, because an acknowledged write must survive a crash.
* The server is not in recovery, because a standby returns old data.
"""

from __future__ import annotations

import os
import select
import weakref
from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.telemetry.secrets import without_password

_CONNECT_SECONDS: Final = 10

_SET_UP: Final = (
    "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'),"
    " set_config('default_transaction_isolation', 'read committed', false)"
)


@dataclass(frozen=True, slots=True)
class Room:
    """Size of a session pool."""

    kept: int = 10
    """Number of sessions that stay open."""
    more: int = 20
    """Number of additional sessions that are opened if all others are in use."""
    seconds: float = 30
    """Maximum time to wait for a free session, in seconds."""


ROOM: Final = Room()


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """Database to connect to."""

    conninfo: str
    """Connection string of libpq, which may contain a secret."""
    shown: str
    """URL without secrets, for messages."""

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Open a connection that is not pooled.

        Raises:
            psycopg.Error: The connection failed. The caller converts the error.
        """
        return psycopg.connect(self.conninfo, autocommit=autocommit, prepare_threshold=0)


def parse_url(url: str) -> ConnectionTarget:
    """Parse `postgresql://user:password@host:port/database?options` like libpq. `postgresql+psycopg` is a synonym.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    rest = url.partition("://")[2]
    shown = without_password(url)
    given = _read_by_libpq(f"postgresql://{rest}")
    if given is None or not all(port.isdecimal() for port in str(given.get("port", "5432")).split(",")):
        raise InvalidInput(f"{shown!r} is not a valid URL of a PostgreSQL database", kind=Kind.InvalidUrl, url=shown)
    defaults: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "application_name": "graveler"}
    return ConnectionTarget(make_conninfo(**{**defaults, **given}), shown)


def _read_by_libpq(url: str) -> dict[str, Any] | None:
    """Parse a URL with libpq. Return `None` if it is invalid.

    The original error is dropped, because its message may contain the password.
    """
    try:
        return conninfo_to_dict(url)
    except psycopg.Error:
        return None


class Sessions:
    """Session pool of one store. After a fork, the child starts with an empty pool, because it cannot share sockets."""

    def __init__(self, target: ConnectionTarget, room: Room = ROOM) -> None:
        self._target = target
        self._room = room
        self._closed = False
        self._inherited: list[QueuePool] = []
        self._pool = self._new_pool()
        _ALL.add(self)

    def take(self) -> PoolProxiedConnection:
        """Return a session in autocommit mode, after a check that it is connected. Its `close` returns it to the pool.

        Raises:
            Unavailable: The store was closed, the server cannot be reached, or it is in recovery.
            psycopg.Error, sqlalchemy.exc.TimeoutError: No session is available, and no statement was sent. The caller
                converts the error.
        """
        if self._closed:
            raise Unavailable(f"the store {self._target.shown} was closed")
        return self._pool.connect()

    def close(self) -> None:
        """Close idle sessions now, and sessions in use when they are returned."""
        self._closed = True
        self._pool.dispose()

    def after_fork(self) -> None:
        """Replace the pool in the child process.

        The sessions of the parent are kept referenced, because closing them would send data on the parent's sockets.
        """
        self._inherited.append(self._pool)
        self._pool = self._new_pool()

    def _new_pool(self) -> QueuePool:
        pool = QueuePool(
            self._connect,
            pool_size=self._room.kept,
            max_overflow=self._room.more,
            timeout=self._room.seconds,
            use_lifo=True,
            reset_on_return=None,
        )
        event.listen(pool, "checkout", _check_alive)
        return pool

    def _connect(self) -> Any:
        shown = self._target.shown
        connection = self._target.connect(autocommit=True)
        try:
            row = connection.execute(_SET_UP).fetchone()
            in_recovery, synchronous_commit = row[:2] if row else (True, "off")
            if in_recovery:
                raise Unavailable(f"the server of {shown} is in recovery", kind=Kind.StoreReadOnly, store=shown)
            if synchronous_commit == "off":
                connection.execute("SET synchronous_commit = local")
        except BaseException:
            connection.close()
            raise
        return connection


def _check_alive(connection: Any, _record: Any, _proxy: Any) -> None:
    """Raise `DisconnectionError` if the session was closed.

    The server sends nothing to an idle session. If its socket is readable, the server has closed the session.
    """
    if connection.closed:
        raise DisconnectionError("the session was closed")
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    if poll.poll(0):
        raise DisconnectionError("the server has closed the session")


_ALL: weakref.WeakSet[Sessions] = weakref.WeakSet()


def _after_fork() -> None:
    for sessions in list(_ALL):
        sessions.after_fork()


os.register_at_fork(after_in_child=_after_fork)
