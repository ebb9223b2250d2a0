"""Tables are made once, completed after an interruption, and recognized."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pymysql
import pytest

from graveler_core.errors import Kind, SlowDown, Unavailable
from graveler_core.kv.backends.mysql import schema as mysql_schema
from graveler_core.kv.backends.mysql.schema import prepare
from graveler_core.kv.backends.mysql.sessions import parse_url
from graveler_core.kv.backends.mysql.statements import TABLES
from graveler_core.kv.backends.mysql.store import open_mysql
from graveler_core.kv.backends.mysql.turns import lock_name
from tests.servers.mariadb import execute
from tests.servers.process import ServerProcess


def database(url: str) -> str:
    return url.rpartition("/")[2]


def opened(url: str) -> None:
    """Opens the store, and uses it."""
    store = open_mysql(url)
    store.set(b"p", b"k", b"v")
    assert store.get(b"p", b"k") is not None
    store.close()


def test_many_open_an_empty_database(mysql_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(opened, [mysql_url] * 8))


@pytest.mark.parametrize("made", [1, 2])
def test_an_interrupted_creation_is_completed(mariadb: ServerProcess, mysql_url: str, made: int) -> None:
    execute(mariadb, f"USE {database(mysql_url)}", *TABLES[:made])
    opened(mysql_url)
    [[version]] = execute(mariadb, f"SELECT schema_version FROM {database(mysql_url)}.graveler_meta")
    assert version == 1


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        ("UPDATE graveler_meta SET schema_version = 9", Kind.NewerSchema),
        ("UPDATE graveler_meta SET schema_version = 0", Kind.NotAGravelerStore),
        ("INSERT INTO graveler_meta VALUES (2)", Kind.NotAGravelerStore),
        ("ALTER TABLE graveler_meta RENAME COLUMN schema_version TO other", Kind.NotAGravelerStore),
    ],
)
def test_other_tables_are_refused(mariadb: ServerProcess, mysql_url: str, statement: str, kind: Kind) -> None:
    opened(mysql_url)
    execute(mariadb, f"USE {database(mysql_url)}", statement)
    with pytest.raises(Unavailable) as caught:
        open_mysql(mysql_url)
    assert caught.value.kind is kind


def test_a_database_that_is_not_there(mysql_url: str) -> None:
    with pytest.raises(Unavailable) as caught:
        open_mysql(f"{mysql_url}_not")
    assert caught.value.kind is Kind.NotAGravelerStore


def test_migrations(mysql_url: str) -> None:
    opened(mysql_url)
    migrations = [["CREATE TABLE IF NOT EXISTS graveler_more(k INTEGER)"]]
    target = parse_url(mysql_url)
    connection = target.connect()
    prepare(connection, target, migrations)
    prepare(connection, target, migrations)
    with connection.cursor() as cursor:
        cursor.execute("SELECT schema_version FROM graveler_meta")
        assert list(cursor.fetchall()) == [(2,)]
    connection.close()
    with pytest.raises(Unavailable) as caught:
        open_mysql(mysql_url)
    assert caught.value.kind is Kind.NewerSchema


@pytest.mark.parametrize("limit", ["of the store", "of reads"])
def test_a_creation_that_waits_too_long(mysql_url: str, monkeypatch: pytest.MonkeyPatch, limit: str) -> None:
    if limit == "of the store":
        monkeypatch.setattr(mysql_schema, "_SECONDS", 0)
    connection: pymysql.Connection = parse_url(mysql_url).connect()
    with connection.cursor() as cursor:
        cursor.execute("SELECT get_lock(%s, 0)", (lock_name(database(mysql_url), "schema"),))
    with pytest.raises(SlowDown, match="another process"):
        open_mysql(mysql_url if limit == "of the store" else f"{mysql_url}?read_timeout=2")
    connection.close()
