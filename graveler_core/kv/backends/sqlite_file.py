"""The file behind a SQLite store: its URL, its schema, and the check that it is ours.

The database header says whose file it is: `application_id` is graveler's, `user_version` the version of the schema.
Both are written in the transaction that makes the table, so a file is either a store or untouched. The check reads
through SQLite and never with `open()`: closing a second descriptor of the file would drop this process's locks on it.
"""

from __future__ import annotations

import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl, quote, unquote

from graveler_core.errors import InvalidInput, Kind, SlowDown, Unavailable
from graveler_core.kv.backends.sqlite_errors import mapped, not_a_store
from graveler_core.kv.display import without_password
from graveler_core.kv.schema_versions import Migrations, newest, pending

APPLICATION_ID: Final = int.from_bytes(b"grav", "big")
MIGRATIONS: Final[Migrations] = ()
BUSY_SECONDS: Final = 10.0
"""How long a statement waits for another process's write before it is SlowDown."""

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
    """Which file, and what an acknowledged write survives: `power` (a power cut) or `process` (kill -9)."""

    path: str
    durability: str

    def connect(self, mode: str = "rw") -> sqlite3.Connection:
        """A connection in autocommit mode, with the busy timeout and the durability set; `mode` as in SQLite's URIs."""
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

    def prepare(self, migrations: Migrations = MIGRATIONS) -> None:
        """Makes the file and its table if there are none, and leads them to the newest version; changes no other file.

        Raises:
            Unavailable: Kind NotAGravelerStore or NewerSchema; or the file cannot be made, read or written.
            SlowDown: Others are making it, for longer than the busy timeout.
        """
        try:
            Path(self.path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unavailable(f"the directory of {self.path} cannot be made: {error}", path=self.path) from error
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
            found = self._version(connection)
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
        """The version of the store's schema; None for an empty file."""
        [application] = connection.execute("PRAGMA application_id").fetchone()
        [version] = connection.execute("PRAGMA user_version").fetchone()
        if application == APPLICATION_ID and version > 0:
            return int(version)
        if application or version or connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchall():
            raise not_a_store(self.path, "it is a SQLite database of another application")
        return None


def parse_url(url: str) -> SQLiteFile:
    """Reads `sqlite:///relative.db`, `sqlite:////absolute.db`, with `?durability=power` (the default) or `process`.

    Characters that mean something in a URL are written percent-encoded. A relative path counts from the working
    directory at this moment.

    Raises:
        InvalidInput: Kind InvalidUrl.
    """
    rest, _, query = url.removeprefix("sqlite://").partition("?")
    path = unquote(rest[1:])
    if not url.startswith("sqlite:///") or not path or path.endswith("/") or "\x00" in path:
        raise _invalid(url, "write sqlite:///relative/path.db or sqlite:////absolute/path.db")
    if path == ":memory:":
        raise _invalid(url, "a store in memory is memory://")
    options = dict(parse_qsl(query, keep_blank_values=True))
    durability = options.pop("durability", "power")
    if durability not in _SYNCHRONOUS:
        raise _invalid(url, f"durability is {durability!r}; it must be power or process")
    if options:
        raise _invalid(url, f"unknown option {min(options)!r}; the only one is durability")
    return SQLiteFile(str(Path(path).absolute()), durability)


def _invalid(url: str, rule: str) -> InvalidInput:
    shown = without_password(url)
    return InvalidInput(f"{shown!r} is no URL of a SQLite store: {rule}", kind=Kind.InvalidUrl, url=shown)
