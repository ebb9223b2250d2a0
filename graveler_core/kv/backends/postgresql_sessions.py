"""Sessions on one PostgreSQL database: pooled, and each set up the way the promises of the store need it.

That is, whatever the defaults of the server are: READ COMMITTED, because each method is one statement and its
conditions must be judged on the newest row; `synchronous_commit` at least `local`, because an acknowledged write
survives a crash; no server in recovery, because a standby answers reads with the past.
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
from graveler_core.kv.display import without_password

_CONNECT_SECONDS: Final = 10

_SET_UP: Final = (
    "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'),"
    " set_config('default_transaction_isolation', 'read committed', false)"
)


@dataclass(frozen=True, slots=True)
class Room:
    """How many sessions a pool keeps, how many more it opens when all are in use, and how long one is waited for."""

    kept: int = 10
    more: int = 20
    seconds: float = 30


ROOM: Final = Room()


@dataclass(frozen=True, slots=True)
class Target:
    """What to connect to: libpq's text (a secret may be in it), and a name that may be shown."""

    conninfo: str
    shown: str

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """A plain connection, of no pool.

        Raises:
            psycopg.Error: To be mapped.
        """
        return psycopg.connect(self.conninfo, autocommit=autocommit, prepare_threshold=0)


def parse_url(url: str) -> Target:
    """Reads `postgresql://user:password@host:port/database?options` as libpq does; `postgresql+psycopg` is the same.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    rest = url.partition("://")[2]
    shown = without_password(url)
    given = _read_by_libpq(f"postgresql://{rest}")
    if given is None or not all(port.isdecimal() for port in str(given.get("port", "5432")).split(",")):
        raise InvalidInput(f"{shown!r} is no URL of a PostgreSQL database", kind=Kind.InvalidUrl, url=shown)
    defaults: dict[str, Any] = {"connect_timeout": _CONNECT_SECONDS, "application_name": "graveler"}
    return Target(make_conninfo(**{**defaults, **given}), shown)


def _read_by_libpq(url: str) -> dict[str, Any] | None:
    """None if it cannot: its own message may hold the password, so it goes no further, not even as a cause."""
    try:
        return conninfo_to_dict(url)
    except psycopg.Error:
        return None


class Sessions:
    """The pool of one store. A child of a fork begins with an empty one: sockets cannot be shared between processes."""

    def __init__(self, target: Target, room: Room = ROOM) -> None:
        self._target = target
        self._room = room
        self._closed = False
        self._inherited: list[QueuePool] = []
        self._pool = self._new_pool()
        _ALL.add(self)

    def take(self) -> PoolProxiedConnection:
        """A session in autocommit mode, known to be alive a moment ago; its `close` gives it back to the pool.

        Raises:
            Unavailable: The store was closed, the server cannot be reached, or it is in recovery.
            psycopg.Error, sqlalchemy.exc.TimeoutError: To be mapped; nothing was sent yet.
        """
        if self._closed:
            raise Unavailable(f"the store {self._target.shown} was closed")
        return self._pool.connect()

    def close(self) -> None:
        """Closes idle sessions now and the others when they come back."""
        self._closed = True
        self._pool.dispose()

    def after_fork(self) -> None:
        """Leaves the parent's sessions to the parent: kept, as whatever frees one would talk on the parent's socket."""
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
    """An idle session has nothing to say: if its socket is readable, the server has said goodbye."""
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
