"""Pool of connections to one SQLite file, which is emptied before a fork.

A connection is used by one thread at a time and returns without open statements, so it keeps no snapshot open. File
locks belong to the process that took them. A child process that inherits an open connection would assume that it holds
the locks of its parent, and commits could be lost. Therefore a fork waits for the end of all running operations and
closes all connections. Parent and child then open new ones.
"""

from __future__ import annotations

import os
import sqlite3
import weakref
from collections.abc import Callable
from threading import Condition, Lock, RLock

from graveler_core.errors import Unavailable


class Connections:
    """Connection pool of one store."""

    def __init__(self, connect: Callable[[], sqlite3.Connection], path: str) -> None:
        self._connect = connect
        self._path = path
        self._idle: list[sqlite3.Connection] = []
        self._in_use = 0
        self._closed = False
        self._forking = False
        self._lock = RLock()
        self._all_back = Condition(self._lock)
        _POOLS.add(self)

    def take(self) -> sqlite3.Connection:
        """Return a connection for exclusive use. The caller returns it with `give`.

        Raises:
            Unavailable: The store was closed.
            sqlite3.Error: A new connection could not be opened.
        """
        with self._lock:
            if self._closed:
                raise Unavailable(f"the store {self._path} was closed", path=self._path)
            self._in_use += 1
            if self._idle:
                return self._idle.pop()
        try:
            return self._connect()
        except BaseException:
            self._leave(None)
            raise

    def give(self, connection: sqlite3.Connection) -> None:
        """Return a connection to the pool. An open transaction is rolled back; if this fails, the connection closes."""
        if connection.in_transaction:
            try:
                connection.rollback()
            except sqlite3.Error:
                connection.close()
                self._leave(None)
                return
        self._leave(connection)

    def close(self) -> None:
        """Close idle connections now, and connections in use when they are returned."""
        with self._lock:
            self._closed = True
            self._close_idle()

    def before_fork(self) -> None:
        """Wait until no connection is in use, close all, and block `take` until `after_fork`."""
        self._lock.acquire()
        self._forking = True
        while self._in_use:
            self._all_back.wait()
        self._close_idle()

    def after_fork(self) -> None:
        """Allow `take` again, in the parent and in the child."""
        self._forking = False
        self._lock.release()

    def _leave(self, connection: sqlite3.Connection | None) -> None:
        with self._lock:
            self._in_use -= 1
            if connection is not None:
                self._idle.append(connection)
                if self._closed:
                    self._close_idle()
            if self._forking and not self._in_use:
                self._all_back.notify_all()

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().close()


_POOLS: weakref.WeakSet[Connections] = weakref.WeakSet()
_FORKING: list[Connections] = []
_FORK: Lock = Lock()


def _before_fork() -> None:
    _FORK.acquire()
    _FORKING.extend(_POOLS)
    for pool in _FORKING:
        pool.before_fork()


def _after_fork() -> None:
    while _FORKING:
        _FORKING.pop().after_fork()
    _FORK.release()


os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
