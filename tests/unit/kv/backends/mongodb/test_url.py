"""URLs of MongoDB stores: what the store reads, what the driver gets, and what is refused."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest

from graveler_core.errors import InvalidInput, Kind, Unavailable
from graveler_core.kv.backends.mongodb.store import open_mongodb
from graveler_core.kv.backends.mongodb.url import parse_url, refused_by_driver
from tests.servers.process import free_port

SECRET = "hunter22"


def test_urls(tmp_path: Path) -> None:
    (tmp_path / "a b.pem").touch()
    plain = parse_url("mongodb://one")
    assert (plain.database, plain.collection, plain.deployment) == ("graveler", "graveler", "replica-set")
    assert (plain.uri, plain.timeout) == ("mongodb://one/?", 20)
    full = parse_url(
        f"mongodb://ann%40x:{SECRET}%2F@one:1,two/lake?collection=team&deployment=sharded&timeout=2.5"
        f"&authSource=admin&TLS=true&tlsCAFile={tmp_path}/a%20b.pem"
    )
    assert full.uri.startswith(f"mongodb://ann%40x:{SECRET}%2F@one:1,two/lake?authSource=admin&TLS=true&tlsCAFile=")
    assert full.uri.endswith("a+b.pem")
    assert (full.database, full.collection, full.deployment, full.timeout) == ("lake", "team", "sharded", 2.5)
    assert SECRET not in repr(full)
    assert full.shown == "mongodb://ann%40x:***@one:1,two/lake"


def test_connection_strings_of_services() -> None:
    """They say what the store sets anyway."""
    url = f"mongodb+srv://ann:{SECRET}@cluster.example.net/?retryWrites=true&w=majority&appName=Cluster0"
    assert parse_url(url).uri == f"mongodb+srv://ann:{SECRET}@cluster.example.net/?appName=Cluster0"


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("mongodb://", "host"),
        ("mongodb+other://one", "mongodb://"),
        ("mongodb://one:port", "Port"),
        (f"mongodb://ann:{SECRET}@x@one", "escaped"),
        ("mongodb://one/a.b", "database"),
        ("mongodb://one/lake/more", "database"),
        ("mongodb://one?collection=", "collection"),
        ("mongodb://one?collection=system.users", "collection"),
        ("mongodb://one?deployment=cluster", "deployment is one of replica-set, standalone, sharded"),
        ("mongodb://one?timeout=0", "timeout"),
        ("mongodb://one?w=1", "leave w out"),
        ("mongodb://one?journal=false", "leave journal out"),
        ("mongodb://one?readPreference=secondary", "leave readPreference out"),
        ("mongodb://one?wtimeoutMS=5", "'wtimeoutMS' is unknown"),
        ("mongodb://one?replicaSet=", "'replicaSet' is unknown or empty"),
        (f"mongodb://one?password={SECRET}", "'password'"),
        ("mongodb://one?tls=perhaps", "tls"),
        (f"mongodb://one?tlsCertificateKeyFilePassword={SECRET}&maxPoolSize={SECRET}", "(?i)maxPoolSize"),
    ],
)
def test_urls_that_are_refused(url: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told) as caught:
        parse_url(url)
    assert caught.value.kind is Kind.InvalidUrl
    assert SECRET not in "".join(traceback.format_exception(caught.value)).replace(url, "") + str(caught.value.details)


def test_secrets_in_what_the_driver_says() -> None:
    url = f"mongodb://ann:{SECRET}@one?maxPoolSize={SECRET}"
    for text in (f"{SECRET} must be a number", f"no host in mongodb://ann:{SECRET}@"):
        assert SECRET not in refused_by_driver(url, ValueError(text)).message
    assert "no host" in refused_by_driver(url, ValueError("no host")).message


def test_nobody_is_there() -> None:
    with pytest.raises(Unavailable, match="cannot be reached") as caught:
        open_mongodb(f"mongodb://ann:{SECRET}@127.0.0.1:{free_port()}/?timeout=0.2")
    assert SECRET not in repr(caught.value) + str(caught.value.details)


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"(?i)tlsCAFile"):
        open_mongodb(f"mongodb://127.0.0.1/?tls=true&tlsCAFile={tmp_path}/nothing.pem")
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")
    with pytest.raises(Unavailable, match="cannot be reached"):
        open_mongodb(f"mongodb://127.0.0.1/?tls=true&tlsCAFile={broken}")
