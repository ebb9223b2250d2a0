"""Servers that benchmarks start themselves: those of the tests, with settings that sync each acknowledged write.

To measure another store, add its server to `SERVERS`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final
from uuid import uuid4

from tests.postgresql_server import own_server
from tests.servers import bigtable, cassandra, dynamodb, s3
from tests.servers.etcd import etcd_server
from tests.servers.mariadb import fresh_database, mariadb_server
from tests.servers.mongodb import fresh_collection, mongodb_server
from tests.servers.redis import redis_server


@contextmanager
def _postgresql() -> Iterator[str]:
    with own_server() as server:
        yield server.url


@contextmanager
def _mysql() -> Iterator[str]:
    with mariadb_server(options=()) as server:
        yield fresh_database(server)


@contextmanager
def _redis() -> Iterator[str]:
    with redis_server() as server:
        yield f"redis://127.0.0.1:{server.port}/0?namespace=bench-{uuid4().hex}"


@contextmanager
def _dynamodb() -> Iterator[str]:
    with dynamodb.dynamodb_server() as server:
        yield dynamodb.fresh_table(server.port)


@contextmanager
def _etcd() -> Iterator[str]:
    with etcd_server() as server:
        yield f"etcd://127.0.0.1:{server.port}/bench"


@contextmanager
def _mongodb() -> Iterator[str]:
    with mongodb_server() as server:
        yield fresh_collection(server.port)


@contextmanager
def _cassandra() -> Iterator[str]:
    with cassandra.cassandra_server() as server:
        yield cassandra.fresh_table(server.port)


@contextmanager
def _bigtable() -> Iterator[str]:
    with bigtable.bigtable_server() as server:
        yield bigtable.fresh_table(server.port)


@contextmanager
def _s3() -> Iterator[str]:
    with s3.s3_server() as server:
        yield s3.fresh_bucket(server.port)


SERVERS: Final[dict[str, Callable[[], AbstractContextManager[str]]]] = {
    "postgresql": _postgresql,
    "mysql": _mysql,
    "redis": _redis,
    "dynamodb": _dynamodb,
    "etcd": _etcd,
    "mongodb": _mongodb,
    "bigtable": _bigtable,
    "cassandra": _cassandra,
    "s3": _s3,
}
"""Functions that run a server until their context ends and yield the URL of an empty store, by name of the store."""


@contextmanager
def running_store(store: str) -> Iterator[str]:
    """Yield the URL of a store. Run its server until the context ends if the store is the name of one.

    Args:
        store: Name in `SERVERS`, or a name or URL that is yielded as it is.
    """
    if store not in SERVERS:
        yield store
        return
    with SERVERS[store]() as url:
        yield url
