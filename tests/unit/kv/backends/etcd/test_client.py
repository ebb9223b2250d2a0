"""The client of etcd's gateway: its URL, several endpoints, users, and requests that are sent once."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import pytest
from urllib3 import HTTPHeaderDict
from urllib3.exceptions import ReadTimeoutError

from graveler_core.errors import (
    CorruptData,
    InvalidInput,
    Kind,
    LimitExceeded,
    OutcomeUnknown,
    PermissionDenied,
    SlowDown,
    Unavailable,
)
from graveler_core.kv import bulk
from graveler_core.kv.backends import backing_off
from graveler_core.kv.backends.cluster_url import Encryption
from graveler_core.kv.backends.etcd.client import EtcdClient, parse_url
from graveler_core.kv.backends.etcd.store import open_etcd
from tests.servers.certificates import make_certificates
from tests.servers.etcd import etcd_server
from tests.servers.process import ServerProcess, free_port

SECRET = "hunter22"


def test_urls() -> None:
    plain = parse_url("etcd://one")
    assert (plain.endpoints, plain.prefix, plain.user) == ((("one", 2379),), b"graveler", None)
    assert plain.encryption == Encryption()
    full = parse_url(
        f"etcd://ann%40x:{SECRET}%2F@one:1,two,[::1]:3/team/lake?tls=true&ca=ca.pem&cert=c.pem&key=k.pem&timeout=2.5"
    )
    assert full.endpoints == (("one", 1), ("two", 2379), ("[::1]", 3))
    assert (full.prefix, full.user, full.password) == (b"team/lake", "ann@x", f"{SECRET}/")
    assert (full.encryption, full.timeout) == (Encryption(True, "ca.pem", "c.pem", "k.pem"), 2.5)
    assert SECRET not in repr(full)
    assert full.shown == "etcd://ann%40x:***@one:1,two,[::1]:3/team/lake"
    assert parse_url("etcd://one/gr%C3%B6%C3%9Fe").prefix == "größe".encode()


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("etcd://", "host"),
        ("etcd:///prefix", "host"),
        ("etcd://one:port", "host:port"),
        ("etcd://one:0", "host:port"),
        ("etcd://one:65536", "host:port"),
        ("etcd://one,,two", "host"),
        ("etcd://ann@one", "user:password"),
        (f"etcd://:{SECRET}@one", "user:password"),
        ("etcd://one/a/", "prefix"),
        ("etcd://one/a//b", "prefix"),
        ("etcd://one/a%00b", "prefix"),
        ("etcd://one?tls=yes", "tls"),
        ("etcd://one?ca=x", "tls=true"),
        ("etcd://one?tls=true&cert=x", "together"),
        ("etcd://one?timeout=0", "timeout"),
        ("etcd://one?timeout=soon", "timeout"),
        ("etcd://one?timeout=nan", "timeout"),
        (f"etcd://one?password={SECRET}", "'password'"),
        ("etcd://one?tls=true&tls=true", "'tls'"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_nobody_is_there() -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_etcd(f"etcd://ann:{SECRET}@127.0.0.1:{free_port()},127.0.0.1:{free_port()}")
    assert SECRET not in repr(caught.value)


def test_certificates_that_cannot_be_read() -> None:
    with pytest.raises(Unavailable, match="certificates"):
        open_etcd("etcd://127.0.0.1:1?tls=true&ca=nothing.pem")


def test_an_endpoint_that_is_away_is_passed_over(etcd: ServerProcess) -> None:
    """Nothing was sent to it, so that a write goes on, too."""
    store = open_etcd(f"etcd://127.0.0.1:{free_port()},127.0.0.1:{etcd.port}/{uuid4()}")
    store.set_if(b"p", b"k", b"v", None)
    assert [row.value for row in store.scan(b"p")] == [b"v"]
    store.close()


LENGTH = {"Content-Length": "2"}
"""Headers of an answer that is complete."""


class Answers:
    """A pool of connections that gives prepared answers, and counts the requests."""

    def __init__(self, *answers: tuple[int, dict[str, Any]]) -> None:
        self.answers = list(answers)
        self.asked = 0

    def request(self, *_: Any, **__: Any) -> Any:
        self.asked += 1
        answer: Any = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        status, body = answer
        return type(
            "Answer", (), {"status": status, "data": json.dumps(body).encode(), "headers": HTTPHeaderDict(LENGTH)}
        )


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    pauses: list[float] = []
    monkeypatch.setattr(backing_off, "time", SimpleNamespace(sleep=pauses.append))
    return pauses


def client_of(monkeypatch: pytest.MonkeyPatch, *answers: tuple[int, dict[str, Any]]) -> tuple[EtcdClient, Answers]:
    client, pool = EtcdClient(parse_url("etcd://host")), Answers(*answers)
    monkeypatch.setattr(client, "_connected", lambda: (pool,))
    return client, pool


BUSY = (429, {"code": 8, "error": "etcdserver: too many requests"})
NO_LEADER = (503, {"code": 14, "error": "etcdserver: no leader"})


def test_a_refused_write_is_sent_again(monkeypatch: pytest.MonkeyPatch, slept: list[float]) -> None:
    client, pool = client_of(monkeypatch, BUSY, BUSY, (200, {"succeeded": True}))
    assert client.write("kv/txn")["succeeded"]
    assert (pool.asked, len(slept)) == (3, 2)


@pytest.mark.parametrize("failure", [NO_LEADER, (500, {"code": 2, "error": "raft: stopped"}), (502, {})])
def test_a_member_that_cannot_serve_is_left(
    monkeypatch: pytest.MonkeyPatch, slept: list[float], failure: tuple[int, dict[str, Any]]
) -> None:
    """A write is not repeated, because it may have been executed. Later requests go to the next member."""
    client, isolated = client_of(monkeypatch, failure)
    healthy = Answers((200, {"count": "1"}))
    monkeypatch.setattr(client, "_connected", lambda: (isolated, healthy))
    with pytest.raises(OutcomeUnknown):
        client.write("kv/txn")
    assert client.write("kv/txn") == client.read("kv/range") == {"count": "1"}
    assert (isolated.asked, healthy.asked, slept) == (1, 2, [])


@pytest.mark.parametrize("failure", [ReadTimeoutError(None, "", "no answer"), NO_LEADER])  # type: ignore[arg-type]
def test_a_member_that_does_not_answer_is_left(
    monkeypatch: pytest.MonkeyPatch, slept: list[float], failure: Any
) -> None:
    client, silent = client_of(monkeypatch, failure)
    healthy = Answers((200, {"count": "1"}))
    monkeypatch.setattr(client, "_connected", lambda: (silent, healthy))
    assert client.read("kv/range") == client.read("kv/range") == {"count": "1"}
    assert (silent.asked, healthy.asked) == (1, 2)


def test_a_member_that_refuses_a_request_stays_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    client, pool = client_of(monkeypatch, (400, {"code": 3, "error": "etcdserver: request is too large"}))
    other = Answers((200, {}))
    monkeypatch.setattr(client, "_connected", lambda: (pool, other))
    for _ in range(2):
        with pytest.raises(LimitExceeded):
            client.write("kv/txn")
    assert (pool.asked, other.asked) == (2, 0)


def test_a_cluster_that_stays_busy(monkeypatch: pytest.MonkeyPatch, slept: list[float]) -> None:
    client, pool = client_of(monkeypatch, BUSY)
    with pytest.raises(SlowDown):
        client.write("kv/txn")
    assert (pool.asked, len(slept)) == (backing_off.ATTEMPTS, backing_off.ATTEMPTS - 1)


def test_a_read_waits_for_a_leader_and_a_write_does_not(monkeypatch: pytest.MonkeyPatch, slept: list[float]) -> None:
    client, pool = client_of(monkeypatch, NO_LEADER, (200, {"count": "1"}))
    assert client.read("kv/range") == {"count": "1"}
    assert (pool.asked, len(slept)) == (2, 1)
    client, pool = client_of(monkeypatch, NO_LEADER)
    with pytest.raises(Exception, match="outcome") as caught:
        client.write("kv/put")
    assert caught.value.kind is Kind.OutcomeUnknown  # type: ignore[attr-defined]
    assert pool.asked == 1


@pytest.mark.parametrize(("status", "body"), [(200, ["a list"]), (404, "page not found"), (405, {"message": "no"})])
def test_other_servers(monkeypatch: pytest.MonkeyPatch, status: int, body: Any) -> None:
    client, _ = client_of(monkeypatch, (status, body))
    with pytest.raises(Unavailable) as caught:
        client.read("kv/range")
    assert caught.value.kind is Kind.NotAGravelerStore


def test_damage_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    client, _ = client_of(monkeypatch, (500, {"code": 15, "error": "etcdserver: corrupt cluster"}))
    with pytest.raises(CorruptData):
        client.read("kv/range")


@pytest.fixture(scope="module")
def guarded() -> Iterator[ServerProcess]:
    """A server with users: `root`, and `ann`, who may read and write below `team/`."""
    with etcd_server(("--auth-token-ttl", "1")) as server:
        _ask(server, "auth/user/add", name="root", password="root")
        _ask(server, "auth/user/grant", user="root", role="root") if _ask(
            server, "auth/role/add", name="root"
        ) else None
        _ask(server, "auth/user/add", name="ann", password=SECRET)
        _ask(server, "auth/role/add", name="team")
        permission = {"permType": "READWRITE", "key": "dGVhbS8=", "range_end": "dGVhbTA="}
        _ask(server, "auth/role/grant", name="team", perm=permission)
        _ask(server, "auth/user/grant", user="ann", role="team")
        _ask(server, "auth/enable")
        yield server


def _ask(server: ServerProcess, path: str, **body: Any) -> bool:
    content = json.dumps(body).encode()
    urllib.request.urlopen(f"http://127.0.0.1:{server.port}/v3/{path}", data=content).close()
    return True


def test_users(guarded: ServerProcess) -> None:
    where = f"127.0.0.1:{guarded.port}"
    store = open_etcd(f"etcd://ann:{SECRET}@{where}/team/lake")
    store.set_if(b"p", b"k", b"v", None)
    client = store._client  # type: ignore[attr-defined]
    first = client._token
    client._token = "invalid.1"
    store.set(b"p", b"k", b"w")  # with a new token
    assert client._token not in (first, "invalid.1")
    assert [found and found.value for found in bulk.get_many(store, [(b"p", b"k")])] == [b"w"]
    told = store.describe()
    assert told["backend"] == "etcd"
    assert SECRET not in repr(told)
    store.close()
    for url in (f"etcd://{where}/team/lake", f"etcd://ann:wrong@{where}/team/lake", f"etcd://ann:{SECRET}@{where}/x"):
        with pytest.raises(PermissionDenied) as caught:
            open_etcd(url)
        assert SECRET not in repr(caught.value)


def test_tls(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    with etcd_server(certificates=tmp_path) as server:
        where = f"etcd://127.0.0.1:{server.port}/lake"
        full = f"tls=true&ca={tmp_path}/ca.pem&cert={tmp_path}/cert.pem&key={tmp_path}/key.pem"
        store = open_etcd(f"{where}?{full}")
        store.set_if(b"p", b"k", b"v", None)
        assert [row.value for row in store.scan(b"p")] == [b"v"]
        store.close()
        for options in ("tls=true", f"tls=true&ca={tmp_path}/ca.pem", "tls=false"):
            with pytest.raises(Unavailable):
                open_etcd(f"{where}?{options}")


def test_a_user_where_there_are_none(etcd: ServerProcess) -> None:
    with pytest.raises(Unavailable, match="authentication is not enabled"):
        open_etcd(f"etcd://ann:{SECRET}@127.0.0.1:{etcd.port}")


@pytest.mark.parametrize("status", [200, 404, 503])
def test_an_answer_that_was_cut_off_is_no_answer(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    """Its headers end where the connection ended. The write may have been executed."""
    monkeypatch.delitem(LENGTH, "Content-Length")
    client, pool = client_of(monkeypatch, (status, {}))
    with pytest.raises(Unavailable, match="cut off"):
        client.read("kv/range")
    with pytest.raises(OutcomeUnknown):
        client.write("kv/txn")
    assert pool.asked == 3
