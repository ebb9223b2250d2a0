"""Creation, migration and recognition of the tables of a PostgreSQL store."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Engine, Integer, LargeBinary, MetaData, Table, inspect, select, text
from sqlalchemy.engine import Connection

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.schema_versions import Migrations, newest, pending

MIGRATIONS: Final[Migrations] = ()

_METADATA: Final = MetaData()
_KV: Final = Table(
    "graveler_kv",
    _METADATA,
    Column("partition", LargeBinary, primary_key=True),
    Column("key", LargeBinary, primary_key=True),
    Column("value", LargeBinary, nullable=False),
)
_META: Final = Table("graveler_meta", _METADATA, Column("schema_version", Integer, primary_key=True))

_LOCK: Final = int.from_bytes(b"graveler", "big") >> 1
"""Id of the advisory lock for the creation of the tables. CREATE IF NOT EXISTS can fail if two processes run it."""


def prepare(engine: Engine, shown: str, migrations: Migrations = MIGRATIONS) -> None:
    """Create the tables in the first schema of the search path if they do not exist, and run pending migrations.

    Raises:
        Unavailable: Kind NotAGravelerStore: the tables are not those of graveler. Kind NewerSchema: a newer version of
            the library migrated them.
        sqlalchemy.exc.DBAPIError: Any other error, which the caller converts.
    """
    with engine.connect() as connection:
        found = _version(connection, shown)
        if found is not None and not pending(found, migrations, shown):
            return
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        found = _version(connection, shown)
        if found is None:
            _METADATA.create_all(connection)
            connection.execute(_META.insert().values(schema_version=1))
        for statement in pending(found or 1, migrations, shown):
            connection.exec_driver_sql(statement)
        connection.execute(_META.update().values(schema_version=newest(migrations)))


def _version(connection: Connection, shown: str) -> int | None:
    """Return the schema version of the store, or `None` if its tables do not exist."""
    tables = set(inspect(connection).get_table_names()) & set(_METADATA.tables)
    if not tables:
        return None
    if tables != set(_METADATA.tables):
        raise _not_a_store(shown, f"only the table {', '.join(sorted(tables))} exists")
    versions = list(connection.execute(select(_META.c.schema_version)).scalars())
    if len(versions) != 1 or versions[0] < 1:
        raise _not_a_store(shown, f"its schema version is {versions}")
    return int(versions[0])


def _not_a_store(shown: str, why: str) -> Unavailable:
    return Unavailable(f"{shown} is not a graveler store: {why}", kind=Kind.NotAGravelerStore, store=shown)
