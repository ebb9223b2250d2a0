"""File of a SQLite store: its URL, its schema, and the check that graveler created it.

The header of the database identifies the file: `application_id` is that of graveler, and `user_version` is the schema
version. Both are written in the transaction that creates the table, so a file is either a complete store or unchanged.
The check uses SQLite and not `open()`, because closing a second descriptor of the file would release the locks that
this process holds on it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from graveler_core.errors import InvalidInput, Kind, SlowDown, Unavailable
from graveler_core.kv.backends.sqlite.errors import mapped, not_a_store
from graveler_core.kv.schema_versions import Migrations, newest, pending
from graveler_core.telemetry.secrets import without_password

APPLICATION_ID: Final = int.from_bytes(b"grav", "big")
MIGRATIONS: Final[Migrations] = ()
BUSY_SECONDS: Final = 10.0
"""Time in seconds that a statement waits for a write of another process before it raises `SlowDown`."""

_VERSION_1: Final = """
    CREATE TABLE kv (
        partition BLOB NOT NULL,
        key BLOB NOT NULL,
        value BLOB NOT NULL,
        PRIMARY KEY (partition, key)
    ) WITHOUT ROWID
"""
_SYNCHRONOUS: Final = {"power": "FULL", "process": "NORMAL"}


@dataclass(frozen=True, slots=True)
class SQLiteFile:
    """Path and durability of a store."""

    path: str
    """Absolute path of the file."""
    durability: str
    """`power` if acknowledged writes survive a power failure, `process` if they survive the end of the process."""

    def connect(self, mode: str = "rw") -> sqlite3.Connection:
        """Open a connection in autocommit mode, with the busy timeout and the durability.

        Args:
            mode: Mode of SQLite's URIs; `rwc` creates the file.
        """
        connection = sqlite3.connect(
            f"file:{quote(self.path)}?mode={mode}",
            uri=True,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute(f"PRAGMA synchronous={_SYNCHRONOUS[self.durability]}")
        except BaseException:
            connection.close()
            raise
        return connection

    def identity(self) -> tuple[int, int] | None:
        """Return the device and inode. They distinguish the file from others with its path. `None` if it is gone."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def prepare(self, migrations: Migrations = MIGRATIONS) -> None:
        """Create the file and its table if they do not exist, and run pending migrations. Foreign files stay unchanged.

        Raises:
            Unavailable: Kind NotAGravelerStore or NewerSchema, or the file cannot be created, read or written.
            SlowDown: Another process locks the file for longer than the busy timeout.
        """
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"the directory of {self.path} cannot be created: {error}", path=self.path) from error
        deadline = time.monotonic() + BUSY_SECONDS
        while True:
            try:
                return self._prepare(migrations)
            except sqlite3.Error as error:
                answer = mapped(error, self.path, writing=False)
                if not isinstance(answer, SlowDown) or time.monotonic() > deadline:
                    raise answer from error
                time.sleep(0.01)

    def _prepare(self, migrations: Migrations) -> None:
        connection = self.connect("rwc")
        try:
            # One transaction, so that another process cannot create the store between the statements that read it.
            connection.execute("BEGIN")
            found = self._version(connection)
            connection.execute("ROLLBACK")
            if found is not None and not pending(found, migrations, self.path):
                return
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("BEGIN IMMEDIATE")
            found = self._version(connection)
            if found is None:
                connection.execute(_VERSION_1)
                connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
            for statement in pending(found or 1, migrations, self.path):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={newest(migrations)}")
            connection.execute("COMMIT")
        finally:
            connection.close()

    def _version(self, connection: sqlite3.Connection) -> int | None:
        """Return the schema version of the store, or `None` for an empty file."""
        [application] = connection.execute("PRAGMA application_id").fetchone()
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION_ID and version > 0:
            return int(version)
        if application or version or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            raise not_a_store(self.path, "it is a SQLite database of another application")
        return None


def require_file(url: str) -> None:
    """Refuse the URL of a SQLite store whose file does not exist. URLs of other stores are ignored: SQLite is the only
    backend that creates a database by being opened.

    Raises:
        InvalidInput: Kind InvalidUrl.
        Unavailable: Kind StoreUnreachable: there is no such file.
    """
    if url.startswith("sqlite:"):
        file = parse_url(url)
        if file.identity() is None:
            raise Unavailable(f"there is no store at {file.path}", kind=Kind.StoreUnreachable, path=file.path)


def parse_url(url: str) -> SQLiteFile:
    """Parse `sqlite:///relative.db` or `sqlite:////absolute.db`, with `?durability=power` (the default) or `process`.

    Special characters of URLs must be percent-encoded. A relative path is relative to the current working directory.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    rest, _, query = url.removeprefix("sqlite://").partition("?")
    path = unquote(rest[1:])
    if not url.startswith("sqlite:///") or not path or path.endswith("/") or "\x00" in path:
        raise _invalid(url, "write sqlite:///relative/path.db or sqlite:////absolute/path.db")
    if path == ":memory:":
        raise _invalid(url, "use memory:// for a store in memory")
    options = dict(parse_qsl(query, keep_blank_values=True))
    durability = options.pop("durability", "power")
    if durability not in _SYNCHRONOUS:
        raise _invalid(url, f"durability is {durability!r}; it must be power or process")
    if options:
        raise _invalid(url, f"unknown option {min(options)!r}; the only one is durability")
    return SQLiteFile(str(Path(path).absolute()), durability)


def _invalid(url: str, rule: str) -> InvalidInput:
    shown = without_password(url)
    return InvalidInput(f"{shown!r} is not a valid URL of a SQLite store: {rule}", kind=Kind.InvalidUrl, url=shown)
