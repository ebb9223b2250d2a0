"""Pooled connections that are idle are kept alive, and are noticed if the network has dropped them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from tests.servers.process import ServerProcess
from tests.tcp_timers import asked_in

SERVERS = {"mysql": "mariadb", "redis": "redis", "etcd": "etcd"}


@pytest.fixture(params=["postgresql", *SERVERS])
def network_and_url(request: pytest.FixtureRequest) -> Iterator[tuple[LossyNetwork, str]]:
    """A network before a server, and the URL of an empty store through it."""
    url: str = request.getfixturevalue(f"{request.param}_url")
    if request.param == "postgresql":
        options = dict(parse_qsl(urlsplit(url).query))
        with lossy_network(f"{options['host']}/.s.PGSQL.5432") as network:
            plain = f"options={quote(options['options'])}&sslmode=disable&gssencmode=disable"
            yield network, f"postgresql://postgres@127.0.0.1:{network.port}/postgres?{plain}"
        return
    server: ServerProcess = request.getfixturevalue(SERVERS[request.param])
    with lossy_network(server.port) as network:
        yield network, url.replace(f":{server.port}", f":{network.port}")


def test_the_system_asks_the_server_whether_it_is_there(network_and_url: tuple[LossyNetwork, str]) -> None:
    network, url = network_and_url
    with closing(open_store(url)) as store:
        store.set(b"p", b"k", b"v")
        assert 0 < asked_in(network.port, of_server=False) <= 30
