"""Stores by URL."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind
from graveler_core.kv import open_store
from graveler_core.kv.backends.bigtable.store import BigtableStore
from graveler_core.kv.backends.bucket.store import BucketStore
from graveler_core.kv.backends.dynamodb.store import DynamoDBStore
from graveler_core.kv.backends.etcd.store import EtcdStore
from graveler_core.kv.backends.memory import MemoryStore
from graveler_core.kv.backends.mongodb.store import MongoDBStore
from graveler_core.kv.backends.mysql.store import MySQLStore
from graveler_core.kv.backends.postgresql.store import PostgreSQLStore
from graveler_core.kv.backends.redis.store import RedisStore
from graveler_core.kv.backends.sqlite.store import SQLiteStore


def test_schemes_name_backends(
    tmp_path: Path, postgresql_url: str, mysql_url: str, etcd_url: str, dynamodb_url: str
) -> None:
    urls = {
        "memory://": MemoryStore,
        f"sqlite:///{tmp_path}/kv.db": SQLiteStore,
        postgresql_url: PostgreSQLStore,
        mysql_url: MySQLStore,
        etcd_url: EtcdStore,
        dynamodb_url: DynamoDBStore,
        mysql_url.replace("mysql:", "mysql+pymysql:"): MySQLStore,
        mysql_url.replace("mysql:", "mariadb:"): MySQLStore,
        postgresql_url.replace("postgresql:", "postgresql+psycopg:"): PostgreSQLStore,
    }
    for url, backend in urls.items():
        store = open_store(url)
        assert type(store) is backend
        store.close()


@pytest.mark.parametrize("scheme", ["redis", "valkey"])
def test_schemes_of_redis(redis_url: str, scheme: str) -> None:
    store = open_store(redis_url.replace("redis:", f"{scheme}:"))
    assert type(store) is RedisStore
    store.close()


def test_schemes_of_mongodb_and_bigtable(mongodb_url: str, bigtable_url: str) -> None:
    for url, backend in ((mongodb_url, MongoDBStore), (bigtable_url, BigtableStore)):
        store = open_store(url)
        assert type(store) is backend
        store.close()


def test_schemes_of_buckets(s3_url: str) -> None:
    """The service of Google and that of Azure are not there, but the scheme chooses them."""
    store = open_store(s3_url)
    assert type(store) is BucketStore
    store.close()
    for scheme in ("gs", "az"):
        with pytest.raises(InvalidInput, match=rf"{scheme}://bucket/lake: option 'nonsense' is not known"):
            open_store(f"{scheme}://bucket/lake", {"nonsense": "x"})


@pytest.mark.parametrize("url", ["nosql://host", "meta.db", "", "://x", "/data/meta.db"])
def test_unknown_schemes_are_told_the_known_ones(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"memory://.*postgresql://.*sqlite://") as caught:
        open_store(url)
    assert caught.value.kind is Kind.InvalidUrl


def test_passwords_stay_hidden() -> None:
    with pytest.raises(InvalidInput) as caught:
        open_store("nosql://user:s3cret@host/0?password=s3cret")
    assert "s3cret" not in repr(caught.value) + str(caught.value.details)
    assert "nosql://user:***@host/0?password=***" in caught.value.message
