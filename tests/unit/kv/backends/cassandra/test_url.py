"""URLs of Cassandra stores, and clusters that cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.cassandra.store import open_cassandra
from graveler_core.kv.backends.cassandra.url import parse_url
from graveler_core.kv.backends.cluster_url import Encryption
from tests.servers.process import free_port

SECRET = "hunter22"


def test_urls() -> None:
    plain = parse_url("cassandra://one/lakes")
    assert (plain.endpoints, plain.keyspace, plain.table) == ((("one", 9042),), "lakes", "graveler")
    assert (plain.user, plain.encryption, plain.datacenter, plain.timeout) == (None, Encryption(), None, 20)
    assert plain.name == '"lakes"."graveler"'
    full = parse_url(
        f"cassandra://ann%40x:{SECRET}%2F@one:1,two,[::1]:3/lakes?table=team&datacenter=dc1&timeout=2.5"
        "&tls=true&ca=ca.pem&cert=c.pem&key=k.pem"
    )
    assert full.endpoints == (("one", 1), ("two", 9042), ("::1", 3))
    assert (full.user, full.password, full.table, full.datacenter) == ("ann@x", f"{SECRET}/", "team", "dc1")
    assert (full.encryption, full.timeout) == (Encryption(True, "ca.pem", "c.pem", "k.pem"), 2.5)
    assert SECRET not in repr(full)
    assert full.shown == "cassandra://ann%40x:***@one:1,two,[::1]:3/lakes"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("cassandra://one", "keyspace"),
        ("cassandra://one/", "keyspace"),
        ("cassandra://one/lakes/more", "keyspace"),
        ('cassandra://one/la"kes', "keyspace"),
        ("cassandra://one/1lakes", "keyspace"),
        (f"cassandra://one/{'x' * 49}", "1 to 48"),
        ("cassandra://one/lakes?table=a-b", "table"),
        ("cassandra://one:port/lakes", "host or host:port"),
        ("cassandra://one,,two/lakes", "host or host:port"),
        ("cassandra://ann@one/lakes", "no user"),
        ("cassandra://one/lakes?tls=perhaps", "tls is true or false"),
        ("cassandra://one/lakes?ca=x", "require tls=true"),
        ("cassandra://one/lakes?timeout=0", "timeout"),
        (f"cassandra://one/lakes?consistency={SECRET}", "'consistency'"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_nobody_is_there() -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_cassandra(f"cassandra://ann:{SECRET}@127.0.0.1:{free_port()},127.0.0.1:{free_port()}/lakes")
    assert SECRET not in repr(caught.value)


def test_a_host_that_has_no_address() -> None:
    with pytest.raises(Unavailable, match="cannot be reached"):
        open_cassandra("cassandra://nowhere.invalid/lakes")


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="certificates"):
        open_cassandra(f"cassandra://127.0.0.1:1/lakes?tls=true&ca={tmp_path}/nothing.pem")
