"""Creation, migration and recognition of the tables of a store in MySQL or MariaDB.

The server commits each statement that creates or changes a table. So an interrupted creation can leave a part of the
tables, and the next opening creates the rest. For the same reason, a migration must consist of statements that can be
repeated.
"""

from __future__ import annotations

from typing import Any, Final

import pymysql

from graveler_core.errors import Kind, SlowDown, Unavailable
from graveler_core.kv.backends.mysql.sessions import MySQLTarget
from graveler_core.kv.backends.mysql.statements import TABLES
from graveler_core.kv.backends.mysql.turns import lock_name
from graveler_core.kv.schema_versions import Migrations, newest, pending

MIGRATIONS: Final[Migrations] = ()
_TABLES: Final = (
    "SELECT table_name FROM information_schema.tables"
    " WHERE table_schema=database() AND table_name IN ('graveler_kv', 'graveler_meta')"
)
_SECONDS: Final = 30
"""Maximum time to wait for another process that creates the tables, at most half of the time-out of reads."""


def prepare(connection: pymysql.Connection[Any], target: MySQLTarget, migrations: Migrations = MIGRATIONS) -> None:
    """Create the tables in the database if they do not exist, and run pending migrations.

    Raises:
        SlowDown: Another process has been creating the tables for too long.
        Unavailable: Kind NotAGravelerStore: the tables are not those of graveler. Kind NewerSchema: a newer version of
            the library migrated them.
        pymysql.Error: Any other error, which the caller converts.
    """
    shown, half = target.shown, target.read_timeout // 2
    found = _version(connection, shown)
    if found is not None and not pending(found, migrations, shown):
        return
    name = lock_name(target.database, "schema")
    if _rows(connection, "SELECT get_lock(%s, %s)", (name, min(_SECONDS, half))) != [(1,)]:
        raise SlowDown(f"{shown} is being created by another process", kind=Kind.StoreBusy, store=shown)
    try:
        found = _version(connection, shown)
        if found is None:
            for statement in TABLES:
                _rows(connection, statement)
            _rows(connection, "INSERT INTO graveler_meta(schema_version) VALUES (1)")
        for statement in pending(found or 1, migrations, shown):
            _rows(connection, statement)
        _rows(connection, "UPDATE graveler_meta SET schema_version=%s", (newest(migrations),))
    finally:
        _rows(connection, "SELECT release_lock(%s)", (name,))


def _version(connection: pymysql.Connection[Any], shown: str) -> int | None:
    """Return the schema version of the store, or `None` if its tables do not exist, or only a part of them."""
    if len(_rows(connection, _TABLES)) < len(TABLES):
        return None
    versions = [row[0] for row in _rows(connection, "SELECT schema_version FROM graveler_meta")]
    if not versions:
        return None
    if len(versions) != 1 or versions[0] < 1:
        raise Unavailable(
            f"{shown} is not a graveler store: its schema version is {versions}",
            kind=Kind.NotAGravelerStore,
            store=shown,
        )
    return int(versions[0])


def _rows(connection: pymysql.Connection[Any], statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return list(cursor.fetchall())
