"""Pooled sessions on the server of a store. After a fork, the child starts with an empty pool."""

from __future__ import annotations

import os
import select
import weakref
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Final

from sqlalchemy import event
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import PoolProxiedConnection, QueuePool

from graveler_core.errors import Unavailable


@dataclass(frozen=True, slots=True)
class Room:
    """Size of a session pool."""

    kept: int = 10
    """Number of sessions that stay open."""
    more: int = 20
    """Number of additional sessions that are opened if all others are in use."""
    seconds: float = 30
    """Maximum time to wait for a free session, in seconds."""
    recycled_after: int = -1
    """Age in seconds from which on a session is replaced when it is taken. -1 means never."""


ROOM: Final = Room()


class SessionPool(ABC):
    """Session pool of one store. Subclasses open the sessions of one kind of server."""

    def __init__(self, shown: str, room: Room = ROOM) -> None:
        self._shown = shown
        self._room = room
        self._closed = False
        self._inherited: list[QueuePool] = []
        self._pool = self._new_pool()
        _ALL.add(self)

    def take(self) -> PoolProxiedConnection:
        """Return a session in autocommit mode, after a check that it is connected. Its `close` returns it to the pool.

        Raises:
            Unavailable: The store was closed, or the server cannot be reached or written.
            Exception: An error of the driver, or `sqlalchemy.exc.TimeoutError`: no session is available, and no
                statement was sent. The caller converts the error.
        """
        if self._closed:
            raise Unavailable(f"the store {self._shown} was closed")
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

    def replace(self) -> None:
        """Open new sessions from now on, because the server has changed its role. Those in use end when returned."""
        old, self._pool = self._pool, self._new_pool()
        old.dispose()

    @abstractmethod
    def _connect(self) -> Any:
        """Open a session with the settings that the store requires."""

    @abstractmethod
    def _socket(self, connection: Any) -> int | None:
        """Return the file descriptor of an open session, or `None` if it was closed."""

    def _new_pool(self) -> QueuePool:
        pool = QueuePool(
            self._connect,
            pool_size=self._room.kept,
            max_overflow=self._room.more,
            timeout=self._room.seconds,
            recycle=self._room.recycled_after,
            use_lifo=True,
            reset_on_return=None,
        )
        event.listen(pool, "checkout", self._check_alive)
        return pool

    def _check_alive(self, connection: Any, _record: Any, _proxy: Any) -> None:
        """Raise `DisconnectionError` if the session was closed.

        The server sends nothing to an idle session. If its socket is readable, the server has closed the session.
        """
        descriptor = self._socket(connection)
        if descriptor is None:
            raise DisconnectionError("the session was closed")
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        if poll.poll(0):
            raise DisconnectionError("the server has closed the session")


_ALL: weakref.WeakSet[SessionPool] = weakref.WeakSet()


def _after_fork() -> None:
    for sessions in list(_ALL):
        sessions.after_fork()


os.register_at_fork(after_in_child=_after_fork)
