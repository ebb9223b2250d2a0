"""The tables of a store in PostgreSQL: made once, and recognised."""

from __future__ import annotations

from typing import Final

from sqlalchemy import Column, Engine, Integer, LargeBinary, MetaData, Table, inspect, select, text
from sqlalchemy.engine import Connection

from graveler_core.errors import Kind, Unavailable

SCHEMA_VERSION: Final = 1

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
"""The advisory lock that lets one process at a time make the tables: CREATE IF NOT EXISTS alone races with itself."""


def prepare(engine: Engine, shown: str) -> None:
    """Makes the tables in the first schema of the search path if there are none, and checks their version.

    Raises:
        Unavailable: Kind NotAGravelerStore: the tables are of another version, or not graveler's.
        sqlalchemy.exc.DBAPIError: To be mapped by the caller.
    """
    with engine.connect() as connection:
        if _is_store(connection, shown):
            return
    with engine.begin() as connection:
        connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _LOCK})
        if not _is_store(connection, shown):
            _METADATA.create_all(connection)
            connection.execute(_META.insert().values(schema_version=SCHEMA_VERSION))


def _is_store(connection: Connection, shown: str) -> bool:
    tables = set(inspect(connection).get_table_names()) & set(_METADATA.tables)
    if not tables:
        return False
    if tables != set(_METADATA.tables):
        raise _not_a_store(shown, f"of its tables only {', '.join(sorted(tables))} is there")
    versions = list(connection.execute(select(_META.c.schema_version)).scalars())
    if versions != [SCHEMA_VERSION]:
        raise _not_a_store(shown, f"its schema version is {versions}; this library knows {SCHEMA_VERSION}")
    return True


def _not_a_store(shown: str, why: str) -> Unavailable:
    return Unavailable(f"{shown} is no graveler store: {why}", kind=Kind.NotAGravelerStore, store=shown)
