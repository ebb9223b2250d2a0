"""Pooled sessions on a MySQL or MariaDB database, with the settings that the guarantees of the store require.

The settings do not depend on the defaults of the server:

* READ COMMITTED, so that statements evaluate predicates on the newest row, and lock no gaps between keys.
* Strict mode, so that nothing is cut off, and backslash escapes, which PyMySQL uses.
* The number of rows of an UPDATE includes rows that already had the value (`FOUND_ROWS`). Otherwise, a won
  compare-and-swap that writes the same value would look like a lost one.
* On a Galera cluster, each statement waits for the writes of the other nodes (`wsrep_sync_wait`).
* The server is not read-only, because a replica returns old data. Sessions are replaced after half a minute, and when
  the server refuses a write, so that a server that has become a replica is not used for long.
* The server ends a session that has sent nothing for some minutes. By default, it waits for hours. If a client loses
  its network in the middle of a transaction, its locks would stay for that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql
from pymysql.constants import CLIENT

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.keepalive import keep_alive
from graveler_core.kv.backends.server_url import Options, file, invalid_url, parse_server_url, seconds, truth
from graveler_core.kv.backends.sessions import Room, SessionPool

_TIMEOUTS: Final = {"connect_timeout": 10, "read_timeout": 60, "write_timeout": 60}
"""Default time-outs in seconds."""
_OPTIONS: Final[Options] = {
    **dict.fromkeys(_TIMEOUTS, seconds),
    **dict.fromkeys(("ssl_disabled", "ssl_verify_cert", "ssl_verify_identity"), truth),
    **dict.fromkeys(("ssl_ca", "ssl_cert", "ssl_key"), file),
    "unix_socket": str,
}
_EXAMPLE: Final = "mysql://user:password@host:port/database"
_LOCK_SECONDS: Final = 20
"""Maximum time to wait for a locked row."""
_IDLE_SECONDS: Final = 120
"""Time after which the server ends a session that sends nothing. The pool opens another one."""
_ROOM: Final = Room(recycled_after=30)
"""Size of the pool. A server can become a replica while sessions are open, and only the opening of a session checks
this. So sessions are replaced after half a minute.
"""
_SET_UP: Final = (
    "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED",
    "SET SESSION sql_mode='STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION'",
)
_LOOK: Final = "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('read_only', 'wsrep_on')"


@dataclass(frozen=True, slots=True)
class MySQLTarget:
    """Database to connect to."""

    options: Mapping[str, Any] = field(repr=False)
    """Arguments of `pymysql.connect`, which may contain a secret."""
    shown: str
    """URL without secrets, for messages."""

    @property
    def database(self) -> str:
        """Name of the database."""
        return str(self.options["database"])

    def connect(self) -> pymysql.Connection[Any]:
        """Open a connection that is not pooled, in autocommit mode.

        Raises:
            Unavailable: The server requires a package that is not installed.
            pymysql.Error: The connection failed. The caller converts the error.
        """
        try:
            return pymysql.connect(**self.options, autocommit=True, charset="utf8mb4", client_flag=CLIENT.FOUND_ROWS)
        except RuntimeError as error:
            # Its password plug-in needs RSA if the connection is neither encrypted nor local.
            raise Unavailable(
                f"{self.shown}: {error}; use TLS, or install it: pip install cryptography", store=self.shown
            ) from None
        except OSError as error:
            # A file of the TLS options cannot be used.
            raise Unavailable(f"{self.shown} cannot be connected to: {error}", store=self.shown) from None

    @property
    def read_timeout(self) -> int:
        """Maximum time until an answer arrives, in seconds."""
        return int(self.options["read_timeout"])

    @property
    def lock_timeout(self) -> int:
        """Maximum time to wait for a locked row, in seconds. It is so far below the time-out of reads that the server
        answers, although a statement may wait for more than one row. The server allows no less than a second.
        """
        third = self.read_timeout // 3
        return max(1, min(_LOCK_SECONDS, third))


def parse_url(url: str) -> MySQLTarget:
    """Parse `mysql://user:password@host:port/database?options`. `mysql+pymysql` and `mariadb` are synonyms.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    parts = parse_server_url(url, _EXAMPLE, _OPTIONS)
    if not parts.path or "/" in parts.path:
        raise invalid_url(parts.shown, "it must name one database", _EXAMPLE)
    options = {**_TIMEOUTS, "host": parts.host, "port": parts.port or 3306, "database": parts.path, **parts.options}
    if parts.user:
        # The password as bytes, because PyMySQL would encode text as Latin-1.
        options |= {"user": parts.user, "password": (parts.password or "").encode()}
    return MySQLTarget(options, parts.shown)


class MySQLSessions(SessionPool):
    """Session pool of one store in MySQL or MariaDB."""

    def __init__(self, target: MySQLTarget, room: Room = _ROOM, idle: int = _IDLE_SECONDS) -> None:
        super().__init__(target.shown, room)
        self._target = target
        self._limits = (
            f"SET SESSION innodb_lock_wait_timeout={target.lock_timeout},"
            f" SESSION wait_timeout=LEAST(@@SESSION.wait_timeout, {idle})"
        )

    def _connect(self) -> Any:
        shown = self._target.shown
        connection: Any = self._target.connect()
        try:
            keep_alive(connection._sock)
            with connection.cursor() as cursor:
                for statement in (*_SET_UP, self._limits):
                    cursor.execute(statement)
                cursor.execute(_LOOK)
                found = {name: value != "OFF" for name, value in cursor.fetchall()}
                if found.get("read_only"):
                    raise Unavailable(f"the server of {shown} is read-only", kind=Kind.StoreReadOnly, store=shown)
                if found.get("wsrep_on"):
                    cursor.execute("SET SESSION wsrep_sync_wait=7")
        except BaseException:
            connection.close()
            raise
        return connection

    def _socket(self, connection: Any) -> int | None:
        return connection._sock.fileno() if connection.open else None
