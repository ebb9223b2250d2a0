"""Pooled connections to a Redis server, and the settings of the server that the guarantees of the store require.

Nothing is repeated by the client: a conditional write that is sent twice would find its own result. A new
connection to a replica is refused, because a replica returns old data. Connections are opened again after half a
minute, and when the server refuses a write, so that a server that has become a replica is not used for long.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from redis.backoff import NoBackoff
from redis.connection import BlockingConnectionPool, SSLConnection, UnixDomainSocketConnection
from redis.exceptions import RedisError, ResponseError
from redis.retry import Retry

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.keepalive import TCP_OPTIONS
from graveler_core.kv.backends.redis.errors import mapped
from graveler_core.kv.backends.server_url import Options, file, invalid_url, parse_server_url, seconds, truth

_CONNECTIONS: Final = 30
"""Number of connections of a store."""
_WAIT_SECONDS: Final = 30
"""Maximum time to wait for a free connection."""
_ROLE_SECONDS: Final = 30
"""Time after which a connection is opened again, which checks the role of the server."""
_NAMESPACE: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")
_EXAMPLE: Final = "redis://user:password@host:port/0?namespace=name"


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        raise ValueError("1 to 64 letters, digits and ._-")
    return text


def _durability(text: str) -> str:
    if text not in ("power", "none"):
        raise ValueError("power or none")
    return text


_OPTIONS: Final[Options] = {
    "namespace": _namespace,
    "durability": _durability,
    "connect_timeout": seconds,
    "timeout": seconds,
    "ssl_ca": file,
    "ssl_cert": file,
    "ssl_key": file,
    "ssl_verify_identity": truth,
    "unix_socket": str,
}


@dataclass(frozen=True, slots=True)
class RedisTarget:
    """Namespace of a server."""

    arguments: Mapping[str, Any] = field(repr=False)
    """Arguments of a connection, which may contain a secret."""
    namespace: bytes
    durable: bool
    """True if acknowledged writes must survive a power failure."""
    shown: str
    """URL without secrets, for messages."""


def parse_url(url: str) -> RedisTarget:
    """Parse `redis://user:password@host:port/0?namespace=name`. `valkey` is a synonym; `rediss` and `valkeys` use TLS.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    parts = parse_server_url(url, _EXAMPLE, _OPTIONS)
    given = parts.options
    if not (parts.path or "0").isdecimal():
        raise invalid_url(parts.shown, "the path must be the number of a database", _EXAMPLE)
    arguments: dict[str, Any] = {
        "username": parts.user,
        "password": parts.password,
        "db": int(parts.path or "0"),
        "socket_timeout": given.get("timeout", 30),
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
    }
    if "unix_socket" in given:
        arguments |= {"connection_class": UnixDomainSocketConnection, "path": given["unix_socket"]}
    else:
        arguments |= {"host": parts.host, "port": parts.port or 6379}
        arguments["socket_connect_timeout"] = given.get("connect_timeout", 10)
        arguments |= {"socket_keepalive": True, "socket_keepalive_options": TCP_OPTIONS}
    if url.partition("://")[0] in ("rediss", "valkeys"):
        arguments |= {
            "connection_class": SSLConnection,
            "ssl_ca_certs": given.get("ssl_ca"),
            "ssl_certfile": given.get("ssl_cert"),
            "ssl_keyfile": given.get("ssl_key"),
            "ssl_check_hostname": given.get("ssl_verify_identity", True),
        }
    namespace = given.get("namespace", "graveler").encode()
    return RedisTarget(arguments, namespace, given.get("durability", "power") == "power", parts.shown)


class RedisConnections:
    """Connections of one store. redis-py opens new ones after a fork."""

    def __init__(self, target: RedisTarget, now: Callable[[], float] = time.monotonic) -> None:
        self._shown = target.shown
        self._closed = False
        self._now = now
        self._opened: WeakKeyDictionary[Any, float] = WeakKeyDictionary()
        """Time at which each connection was opened. Connections that are not in it are opened again."""
        pool: Any = BlockingConnectionPool  # has no types
        self._pool = pool(
            max_connections=_CONNECTIONS,
            timeout=_WAIT_SECONDS,
            redis_connect_func=self._set_up,
            **target.arguments,
        )

    def ask(self, *command: Any, writing: bool = False) -> Any:
        """Send one command, and return the answer of the server.

        Args:
            command: Name and arguments.
            writing: True if the command writes, so that its outcome may be unknown after an error.

        Raises:
            NoScriptError: The server does not know the script, and nothing was executed.
            GravelerError: Any other error.
        """
        connection = self._take()
        try:
            connection.send_command(*command)
            return connection.read_response()
        except ResponseError as error:
            if mapped(error, self._shown, writing=writing).kind is Kind.StoreReadOnly:
                self._opened.clear()
            raise
        except (RedisError, OSError) as error:
            connection.disconnect()
            raise mapped(error, self._shown, writing=writing) from error
        except BaseException:
            connection.disconnect()
            raise
        finally:
            self._pool.release(connection)

    def close(self) -> None:
        """Close all connections."""
        self._closed = True
        self._pool.disconnect()

    def _take(self) -> Any:
        if self._closed:
            raise Unavailable(f"the store {self._shown} was closed")
        connection: Any = None
        try:
            connection = self._pool.get_connection()
            if self._now() - self._opened.get(connection, -math.inf) >= _ROLE_SECONDS:
                connection.disconnect()
                connection.connect()
            return connection
        except BaseException as error:
            if connection is not None:
                connection.disconnect()
                self._pool.release(connection)
            if isinstance(error, RedisError | OSError):
                raise mapped(error, self._shown, writing=False) from error
            raise

    def _set_up(self, connection: Any) -> None:
        connection.on_connect()
        self._opened[connection] = self._now()
        try:
            connection.send_command("ROLE")
            role = connection.read_response()[0]
        except ResponseError:
            return  # a service that does not tell
        if role != b"master":
            connection.disconnect()
            raise Unavailable(f"the server of {self._shown} is a replica", kind=Kind.StoreReadOnly, store=self._shown)
