"""The tables are made once, by whoever comes first, and recognised."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from sqlalchemy import Engine, create_engine, inspect
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.pool import NullPool

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.postgresql.schema import prepare
from graveler_core.kv.backends.postgresql.sessions import parse_url
from graveler_core.kv.backends.postgresql.store import open_postgresql


def test_many_open_an_empty_database_at_once(postgresql_url: str) -> None:
    with ThreadPoolExecutor(8) as pool:
        stores = list(pool.map(open_postgresql, [postgresql_url] * 8))
    for number, store in enumerate(stores):
        store.set(b"p", b"%d" % number, b"v")
    assert len(list(stores[0].scan(b"p"))) == 8
    for store in stores:
        store.close()


@pytest.mark.parametrize(
    ("spoil", "shown"),
    [
        ("DROP TABLE graveler_meta", "only the table graveler_kv exists"),
        ("DROP TABLE graveler_kv", "only the table graveler_meta exists"),
        ("UPDATE graveler_meta SET schema_version = 0", r"version is \[0\]"),
        ("DELETE FROM graveler_meta", r"version is \[\]"),
        ("ALTER TABLE graveler_meta RENAME schema_version TO version", "schema_version"),
    ],
)
def test_other_tables_are_refused(postgresql_url: str, spoil: str, shown: str) -> None:
    open_postgresql(postgresql_url).close()
    with psycopg.connect(postgresql_url) as connection:
        connection.execute(spoil.encode())
    with pytest.raises(Unavailable, match=shown) as caught:
        open_postgresql(postgresql_url)
    assert caught.value.kind is Kind.NotAGravelerStore


def test_a_read_only_database(postgresql_url: str) -> None:
    """It can be read; the first write says what is wrong."""
    writable = open_postgresql(postgresql_url)
    writable.set(b"p", b"k", b"v")
    writable.close()
    read_only = open_postgresql(f"{postgresql_url}%20-cdefault_transaction_read_only%3Don")
    assert read_only.get(b"p", b"k") is not None
    with pytest.raises(Unavailable) as caught:
        read_only.set(b"p", b"k", b"w")
    assert caught.value.kind is Kind.StoreReadOnly
    read_only.close()


TO_2 = ("ALTER TABLE graveler_kv ADD COLUMN note text", "CREATE TABLE notes (note text)")
TO_3 = ("INSERT INTO notes VALUES ('third')",)


@pytest.fixture
def engine(postgresql_url: str) -> Iterator[Engine]:
    """On a store of version 1, with a row."""
    target = parse_url(postgresql_url)
    made = create_engine("postgresql+psycopg://", creator=target.connect, poolclass=NullPool)
    prepare(made, "here", ())
    with made.begin() as connection:
        connection.exec_driver_sql("INSERT INTO graveler_kv VALUES ('p', 'k', 'v')")
    yield made
    made.dispose()


def versions(engine: Engine) -> tuple[list[int], set[str]]:
    with engine.connect() as connection:
        found = connection.exec_driver_sql("SELECT schema_version FROM graveler_meta").scalars()
        return list(found), {column["name"] for column in inspect(connection).get_columns("graveler_kv")}


def notes(engine: Engine) -> list[str]:
    with engine.connect() as connection:
        return list(connection.exec_driver_sql("SELECT note FROM notes").scalars())


def test_an_old_store_is_led_forward_once_and_stays_usable(engine: Engine, postgresql_url: str) -> None:
    """Also for a process of the version before that has it open."""
    store = open_postgresql(postgresql_url)
    found = store.get(b"p", b"k")
    for _ in range(2):
        prepare(engine, "here", (TO_2, TO_3))
    assert versions(engine) == ([3], {"partition", "key", "value", "note"})
    assert notes(engine) == ["third"]
    assert found is not None
    store.set_if(b"p", b"k", b"w", found.predicate)
    assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"k", b"w")]
    store.close()


def test_many_lead_a_store_forward_at_once(engine: Engine) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: prepare(engine, "here", (TO_2, TO_3)), range(8)))
    assert versions(engine)[0] == [3]
    assert notes(engine) == ["third"]


def test_a_migration_that_fails_leaves_the_store_as_it_was(engine: Engine) -> None:
    with pytest.raises(ProgrammingError, match="nowhere"):
        prepare(engine, "here", (TO_2, ("INSERT INTO nowhere VALUES (1)",)))
    assert versions(engine) == ([1], {"partition", "key", "value"})


def test_a_newer_store_is_refused(engine: Engine, postgresql_url: str) -> None:
    prepare(engine, "here", (TO_2, TO_3))
    with pytest.raises(Unavailable, match=r"has schema version 3, .* supports at most 1") as caught:
        open_postgresql(postgresql_url)
    assert caught.value.kind is Kind.NewerSchema
    assert versions(engine)[0] == [3]
