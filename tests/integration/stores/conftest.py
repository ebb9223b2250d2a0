"""Empty stores on servers, each beyond a network that tests can cut."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

import graveler_core as graveler
from graveler_core.facade.graveler import Graveler
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network

SERVERS = {
    "mysql": "mariadb",
    "redis": "redis",
    "etcd": "etcd",
    "dynamodb": "dynamodb",
    "mongodb": "mongodb",
    "bigtable": "bigtable",
    "cassandra": "cassandra",
    "s3": "s3_process",
}
"""Fixture of the server, by the scheme of its store."""


SLOW = ("cassandra",)
"""Schemes of the stores whose servers are slow to start: `./run test --all` tests them."""
of_each_kind = pytest.mark.parametrize(
    "scheme",
    [pytest.param(scheme, marks=() if scheme in ("mysql", "s3") else pytest.mark.slow) for scheme in SERVERS],
    indirect=True,
)
"""In CI on a store with transactions and on one without, in `./run test --all` on each.

For tests of flows that use nothing but the port: the suites of `tests/conformance` show that all stores keep it.
"""


@pytest.fixture(params=[pytest.param(scheme, marks=pytest.mark.slow if scheme in SLOW else ()) for scheme in SERVERS])
def scheme(request: pytest.FixtureRequest) -> str:
    """The scheme of the store."""
    chosen: str = request.param
    return chosen


@pytest.fixture
def store_url(scheme: str, request: pytest.FixtureRequest) -> str:
    """The URL of an empty store."""
    url: str = request.getfixturevalue(f"{scheme}_url")
    return url


@pytest.fixture
def network(scheme: str, request: pytest.FixtureRequest) -> Iterator[LossyNetwork]:
    """The network before the server of the store."""
    with lossy_network(request.getfixturevalue(SERVERS[scheme]).port) as made:
        yield made


@pytest.fixture
def distant_url(store_url: str, network: LossyNetwork) -> str:
    """The URL of the same store through the network."""
    found = store_url.replace(f"127.0.0.1:{network.server_port}", f"127.0.0.1:{network.port}")
    assert found != store_url
    return found


@pytest.fixture
def namespace(tmp_path: Path) -> str:
    """A storage namespace on disk."""
    return (tmp_path / "lake").as_uri()


@pytest.fixture
def handles(store_url: str) -> Iterator[tuple[Graveler, Graveler]]:
    """Two handles on the store, each with connections of its own."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(closing(graveler.connect(store_url))) for _ in range(2))
        yield first, second
