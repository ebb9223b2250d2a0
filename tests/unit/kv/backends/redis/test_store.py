"""A Redis store: its URLs, what it requires of the server, and a server that forgets, refuses or is a replica."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pyarrow as pa
import pytest
from redis import Redis

import graveler_core
from graveler_core.diagnostics.doctor.diagnosis import Ailment
from graveler_core.errors import InvalidInput, Kind, PermissionDenied, Unavailable
from graveler_core.kv import bulk, open_store
from graveler_core.kv.backends.redis import store as backend
from graveler_core.kv.backends.redis.connections import parse_url
from graveler_core.kv.backends.redis.description import durability, evicts
from graveler_core.kv.store import Store
from tests.servers.process import ServerProcess
from tests.servers.redis import redis_server


@pytest.fixture
def client(redis: ServerProcess) -> Iterator[Any]:
    with closing(Redis(port=redis.port)) as opened:
        yield opened


@pytest.fixture
def store(redis_url: str) -> Iterator[Store]:
    opened = open_store(redis_url)
    yield opened
    opened.close()


@contextmanager
def configured(client: Any, **settings: str) -> Iterator[None]:
    """The server with other settings."""
    names = [name.replace("_", "-") for name in settings]
    before = {name: client.config_get(name)[name] for name in names}
    for name, value in zip(names, settings.values(), strict=True):
        client.config_set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            client.config_set(name, value)


def test_namespaces_are_apart(redis: ServerProcess) -> None:
    one, other = (open_store(f"redis://127.0.0.1:{redis.port}?namespace=n{name}") for name in ("", "1"))
    one.set(b"1:p", b"k", b"v")
    one.set(b"p}values", b"k", b"w")
    assert other.get(b"p", b"k") is None
    assert list(other.scan(b"p")) == []
    assert bulk.drop_partition(one, b"1:p") == bulk.drop_partition(one, b"p}values") == 1
    one.close()
    other.close()


def test_a_server_that_has_forgotten_the_scripts(store: Store, client: Any) -> None:
    store.set(b"p", b"k", b"1")
    client.script_flush()
    store.set(b"p", b"k", b"2")
    client.script_flush()
    assert [row.value for row in store.scan(b"p")] == [b"2"]


def test_a_dropped_partition_leaves_nothing(store: Store, client: Any, redis_url: str) -> None:
    namespace = redis_url.rpartition("=")[2]
    store.set(b"p", b"a", b"1")
    store.set(b"q", b"a", b"1")
    bulk.drop_partition(store, b"p")
    store.delete(b"q", b"a")
    assert client.keys(f"*{namespace}*") == [f"{{{namespace}:}}version".encode()]


@pytest.mark.parametrize("size", [1, 7])
def test_long_calls_take_several_scripts(store: Store, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(backend, "_PLACES", size)
    keys = [b"%02d" % number for number in range(20)]
    bulk.load(store, b"p", pa.array(keys, pa.binary()), pa.array(keys, pa.binary()))
    found = bulk.get_many(store, [(b"p", key) for key in [*keys, b"never"]])
    assert [answer and answer.value for answer in found] == [*keys, None]


def test_a_full_server_writes_nothing(store: Store, client: Any) -> None:
    store.set(b"p", b"a", b"old")
    with configured(client, maxmemory="1"):
        for write in (
            lambda: store.set(b"p", b"a", b"new"),
            lambda: store.set_if(b"p", b"b", b"new", None),
            lambda: bulk.set_many(store, [(b"p", b"a", b"new"), (b"q", b"b", b"new")]),
        ):
            with pytest.raises(Unavailable) as caught:
                write()
            assert caught.value.kind is Kind.StoreFull
        assert [(row.key, row.value) for row in store.scan(b"p")] == [(b"a", b"old")]
        store.delete(b"p", b"a")
    assert store.get(b"p", b"a") is None


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"appendonly": "no"}, "appendonly no"),
        ({"appendfsync": "everysec"}, "appendfsync everysec"),
        ({"maxmemory": "1gb", "maxmemory_policy": "allkeys-lru"}, "maxmemory-policy allkeys-lru"),
    ],
)
def test_settings_that_lose_writes_are_refused(client: Any, redis_url: str, settings: dict[str, str], why: str) -> None:
    """Unless the URL accepts them. The doctor tells of them in both cases, and its command repairs them."""
    with configured(client, **settings):
        with pytest.raises(Unavailable, match=why) as caught:
            open_store(redis_url)
        assert caught.value.kind is Kind.StoreNotDurable
        assert "durability=none" in caught.value.message
        with graveler_core.connect(f"{redis_url}&durability=none") as graveler:
            (found,) = graveler.doctor().found
            assert found.ailment in (Ailment.STORE_NOT_DURABLE, Ailment.STORE_EVICTS)
            assert found.command[:3] == ("redis-cli", "CONFIG", "SET")
            client.config_set(*found.command[3:])
            assert graveler.doctor().healthy
        open_store(redis_url).close()


def test_a_description(store: Store) -> None:
    told = store.describe()
    assert (told["backend"], told["durability"], told["role"], told["evicts"]) == ("redis", "power", "master", False)
    assert str(told["version"])[0].isdigit()
    assert isinstance(told["size"], int)
    assert isinstance(told["clock_ahead"], float)
    assert abs(told["clock_ahead"]) < 60


def test_settings_that_a_service_does_not_tell() -> None:
    assert durability({}) == "unknown"
    assert not evicts({})
    assert not evicts({"maxmemory": "5", "maxmemory-policy": "volatile-lru"})
    assert not evicts({"maxmemory": "0", "maxmemory-policy": "allkeys-lru"})


@pytest.mark.ci
def test_a_server_with_passwords_and_a_replica() -> None:
    """A user without CONFIG and ROLE can use a store; a replica is refused, and one that becomes a replica, too."""
    with redis_server() as server:
        with closing(Redis(port=server.port)) as administrator:
            administrator.execute_command("ACL", "SETUSER", "ada", "on", ">s3cr@t", "~*", "+@all", "-config", "-role")
            administrator.config_set("requirepass", "root")
        at = f"127.0.0.1:{server.port}/0"
        store = open_store(f"redis://ada:s3cr%40t@{at}")
        store.set(b"p", b"k", b"v")
        assert store.describe()["durability"] == "unknown"
        wrong = f"redis://ada:s3cret@{at}"
        for url in (wrong, f"redis://{at}"):
            with pytest.raises(PermissionDenied) as caught:
                open_store(url)
            assert "s3cret" not in "".join(traceback.format_exception(caught.value)) + repr(caught.value.details)
        store.close()
        store = open_store(f"redis://:root@{at}")
        with closing(Redis(port=server.port, password="root")) as administrator:
            administrator.execute_command("REPLICAOF", "127.0.0.1", "1")
            for work in (lambda: store.set(b"p", b"k", b"w"), lambda: open_store(f"redis://:root@{at}")):
                with pytest.raises(Unavailable) as refused:
                    work()
                assert refused.value.kind is Kind.StoreReadOnly
        store.close()


@pytest.mark.ci
@pytest.mark.parametrize("noticed_by", ["write", "age"])
def test_a_server_that_becomes_a_replica_is_left(monkeypatch: pytest.MonkeyPatch, noticed_by: str) -> None:
    """Its old data must not be read for long on connections that were opened before."""
    with (
        redis_server() as server,
        closing(Redis(port=server.port)) as administrator,
        closing(open_store(f"redis://127.0.0.1:{server.port}/0")) as store,
    ):
        assert isinstance(store, backend.RedisStore)
        store.set(b"p", b"k", b"v")
        administrator.execute_command("REPLICAOF", "127.0.0.1", "1")
        assert store.get(b"p", b"k") is not None
        if noticed_by == "write":
            with pytest.raises(Unavailable, match="replica"):
                store.set(b"p", b"k", b"w")
        else:
            monkeypatch.setattr(store._connections, "_now", lambda: time.monotonic() + 30)
        for _ in range(2):
            with pytest.raises(Unavailable, match="is a replica") as refused:
                store.get(b"p", b"k")
            assert refused.value.kind is Kind.StoreReadOnly
        administrator.execute_command("REPLICAOF", "NO", "ONE")
        found = store.get(b"p", b"k")
        assert found is not None
        assert found.value == b"v"


def test_a_namespace_of_others(client: Any, redis_url: str) -> None:
    name = f"{{{redis_url.rpartition('=')[2]}:}}version"
    for value, kind in ((b"other", Kind.NotAGravelerStore), (b"9", Kind.NewerSchema)):
        client.set(name, value)
        with pytest.raises(Unavailable) as caught:
            open_store(redis_url)
        assert caught.value.kind is kind


def test_an_unreachable_server() -> None:
    for url in (
        "redis://u:s3cret@127.0.0.1:1",
        "valkey://u:s3cret@h/0?unix_socket=/nonexistent",
        "rediss://:s3cret@localhost:1",
    ):
        with pytest.raises(Unavailable, match="cannot be reached") as caught:
            open_store(url)
        assert caught.value.kind is Kind.StoreUnreachable
        assert "s3cret" not in str(caught.value) + repr(caught.value.details)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("redis://u:s3cret@host:port", "host and port"),
        ("redis://u:s3cret@host/db", "number of a database"),
        ("redis://u:s3cret@host/0?s3cret=1", "not one of the options"),
        ("redis://u:s3cret@host/0?namespace=a:b", "namespace must be"),
        ("redis://u:s3cret@host/0?durability=process", "power or none"),
        ("redis://u:s3cret@host/0?timeout=-1", "seconds"),
    ],
)
def test_urls_that_are_refused(url: str, why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert "u:s3cret" not in "".join(traceback.format_exception(caught.value))


def test_urls() -> None:
    target = parse_url("rediss://ada:p%40ss@[::1]:6380/3?namespace=lake&timeout=5&ssl_verify_identity=false")
    given = target.arguments
    assert (given["host"], given["port"], given["db"], given["socket_timeout"]) == ("::1", 6380, 3, 5)
    assert (given["username"], given["password"], given["ssl_check_hostname"]) == ("ada", "p@ss", False)
    assert (target.namespace, target.durable) == (b"lake", True)
    assert "p@ss" not in repr(target)
    assert "p%40ss" not in repr(target)
