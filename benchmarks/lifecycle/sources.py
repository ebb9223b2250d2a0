"""SQL databases with the source schema of migrations, for the benchmark and the tests of migrations."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.pool import NullPool

from graveler_core.transfer.lakefs.entries import RELATIVE
from graveler_core.transfer.lakefs.messages import EntryMessage

Values = Mapping[str, Any]
_TABLES = """
    CREATE TABLE graveler_repositories (
        id text NOT NULL PRIMARY KEY, storage_namespace text NOT NULL, creation_date {time} NOT NULL,
        default_branch text NOT NULL);
    CREATE TABLE graveler_branches (
        repository_id text NOT NULL, id text NOT NULL, staging_token text, commit_id text,
        PRIMARY KEY (repository_id, id));
    CREATE TABLE graveler_commits (
        repository_id text NOT NULL, id text NOT NULL, committer text NOT NULL, message text NOT NULL,
        creation_date {time} NOT NULL, meta_range_id text NOT NULL, metadata {json}, parents {texts},
        version int DEFAULT 0 NOT NULL, generation int, PRIMARY KEY (repository_id, id));
    CREATE TABLE graveler_tags (
        repository_id text NOT NULL, id text NOT NULL, commit_id text NOT NULL, PRIMARY KEY (repository_id, id));
    CREATE TABLE graveler_staging_kv (
        staging_token {token} NOT NULL, key {bytes} NOT NULL, identity {bytes}, data {bytes},
        PRIMARY KEY (staging_token, key)) {spread}
"""
_TYPES = {
    "sqlite": {"time": "text", "json": "text", "texts": "text", "token": "text", "bytes": "blob", "spread": ""},
    "postgresql": {
        "time": "timestamptz",
        "json": "jsonb",
        "texts": "text[]",
        "token": "varchar",
        "bytes": "bytea",
        "spread": "PARTITION BY HASH (staging_token)",
    },
}
_PARTITIONS = 10


def make_tables(connection: Connection) -> None:
    """Create the five empty tables."""
    kind = connection.dialect.name
    for statement in _TABLES.format(**_TYPES[kind]).split(";"):
        connection.execute(text(statement))
    for number in range(_PARTITIONS) if kind == "postgresql" else ():
        whole, part = "graveler_staging_kv", f"graveler_staging_kv_p{number}"
        spread = f"FOR VALUES WITH (MODULUS {_PARTITIONS}, REMAINDER {number})"
        connection.execute(text(f"CREATE TABLE {part} PARTITION OF {whole} {spread}"))


def insert(connection: Connection, table: str, rows: Iterable[Values]) -> None:
    """Insert rows, all with the same columns. Types that the database lacks are written as JSON."""
    found = [_fitting(row, connection.dialect.name) for row in rows]
    if not found:
        return
    named = ", ".join(found[0])
    json_columns = {"metadata"} if connection.dialect.name == "postgresql" else set[str]()
    given = ", ".join(f"CAST(:{name} AS jsonb)" if name in json_columns else f":{name}" for name in found[0])
    connection.execute(text(f"INSERT INTO {table} ({named}) VALUES ({given})"), found)


@contextmanager
def opened(url: str) -> Iterator[Connection]:
    """Connect to a database in one transaction. It is committed if the body succeeds, and rolled back otherwise."""
    driver = url.replace("postgresql://", "postgresql+psycopg://", 1)
    engine = create_engine(driver, poolclass=NullPool)
    try:
        with engine.begin() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("PRAGMA synchronous = OFF")  # nobody needs a source after a power failure
            yield connection
    finally:
        engine.dispose()


def entry(number: int, address: str | None = None, kind: int = RELATIVE) -> bytes:
    """Return the serialized message of an entry with content that depends on a number."""
    made = EntryMessage(
        address=f"data/{number}" if address is None else address,
        size=number,
        e_tag=f"sum{number}",
        address_type=kind,
        content_type="text/plain",
        metadata={"n": str(number)},
    )
    made.last_modified.FromSeconds(1_600_000_000 + number)
    return bytes(made.SerializeToString())


def _fitting(row: Values, kind: str) -> dict[str, Any]:
    found = dict(row)
    for name, value in row.items():
        if (name == "metadata" and isinstance(value, dict)) or (kind == "sqlite" and isinstance(value, list)):
            found[name] = json.dumps(value)
        elif kind == "sqlite" and isinstance(value, datetime):
            found[name] = value.isoformat(sep=" ")
    return found
