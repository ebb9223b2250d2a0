"""The tables are made once, by whoever comes first, and recognised."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from graveler_core.errors import Kind, Unavailable
from graveler_core.kv.backends.postgresql import open_postgresql


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
        ("DROP TABLE graveler_meta", "only graveler_kv is there"),
        ("DROP TABLE graveler_kv", "only graveler_meta is there"),
        ("UPDATE graveler_meta SET schema_version = 2", r"version is \[2\]"),
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
