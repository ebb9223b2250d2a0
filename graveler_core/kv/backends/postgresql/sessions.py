"""Pooled sessions on a PostgreSQL database, with the settings that the guarantees of the store require.

The settings do not depend on the defaults of the server:

* READ COMMITTED, because each method is one statement, and its predicates must be evaluated on the newest row.
* `synchronous_commit` is at least `local`, because an acknowledged write must survive a crash.
* The server is not in recovery, because a standby returns old data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends import keepalive
from graveler_core.kv.backends.postgresql.connection import PatientConnection
from graveler_core.kv.backends.sessions import ROOM, Room, SessionPool
from graveler_core.kv.backends.url_options import seconds
from graveler_core.telemetry.secrets import without_password

_CONNECT_SECONDS: Final = 10
_READ_SECONDS: Final = 60
_READ_TIMEOUT: Final = "read_timeout="

_SET_UP: Final = (
    "SELECT pg_is_in_recovery(), current_setting('synchronous_commit'),"
    " set_config('default_transaction_isolation', 'read committed', false)"
)


@dataclass(frozen=True, slots=True)
class ConnectionTarget:
    """Database to connect to."""

    conninfo: str
    """Connection string of libpq, which may contain a secret."""
    shown: str
    """URL without secrets, for messages."""
    read_timeout: float = _READ_SECONDS
    """Maximum time until an answer arrives, in seconds."""

    def connect(self, *, autocommit: bool = False) -> psycopg.Connection[Any]:
        """Open a connection that is not pooled.

        Raises:
            psycopg.Error: The connection failed. The caller converts the error.
        """
        connection = PatientConnection.connect(self.conninfo, autocommit=autocommit, prepare_threshold=0)
        connection.read_timeout = self.read_timeout
        return connection


def parse_url(url: str) -> ConnectionTarget:
    """Parse `postgresql://user:password@host:port/database?options` like libpq. `postgresql+psycopg` is a synonym.

    The option `read_timeout` is not one of libpq. It is the maximum time in seconds until an answer arrives.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    place, _, query = url.partition("://")[2].partition("?")
    options = query.split("&") if query else []
    timeouts = [option for option in options if option.startswith(_READ_TIMEOUT)]
    rest = "&".join(option for option in options if option not in timeouts)
    shown = without_password(url)
    given = _read_by_libpq(f"postgresql://{place}?{rest}")
    if given is None or not all(port.isdecimal() for port in str(given.get("port", "")).split(",") if port):
        raise InvalidInput(f"{shown!r} is not a valid URL of a PostgreSQL database", kind=Kind.InvalidUrl, url=shown)
    defaults: dict[str, Any] = {
        "connect_timeout": _CONNECT_SECONDS,
        "application_name": "graveler",
        "keepalives_idle": keepalive.IDLE_SECONDS,
        "keepalives_interval": keepalive.INTERVAL_SECONDS,
        "keepalives_count": keepalive.QUESTIONS,
    }
    hosts = f"{given.get('host', '')}{given.get('hostaddr', '')}"
    if "," in hosts:  # after a failover, the first host may be a standby
        defaults["target_session_attrs"] = "read-write"
    given_seconds = timeouts[-1].removeprefix(_READ_TIMEOUT) if timeouts else None
    return ConnectionTarget(make_conninfo(**{**defaults, **given}), shown, seconds(url, given_seconds, _READ_SECONDS))


def _read_by_libpq(url: str) -> dict[str, Any] | None:
    """Parse a URL with libpq. Return `None` if it is invalid.

    The original error is dropped, because its message may contain the password.
    """
    try:
        return conninfo_to_dict(url)
    except psycopg.Error:
        return None


class Sessions(SessionPool):
    """Session pool of one store in PostgreSQL."""

    def __init__(self, target: ConnectionTarget, room: Room = ROOM) -> None:
        super().__init__(target.shown, room)
        self._target = target

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

    def _socket(self, connection: Any) -> int | None:
        return None if connection.closed else connection.fileno()
