"""`StoreSuite` and `NetworkSuite` on Cassandra. Its start takes up to a minute, so `./run test --all` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.conformance.prepared import opened_with_a_swap
from tests.servers.cassandra import fresh_table
from tests.servers.process import ServerProcess

pytestmark = pytest.mark.slow


class TestCassandra(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """A request of a scan has 40 rows, then 160, 640 and 2,560."""
        return 1_503

    @pytest.fixture
    def opener(self, cassandra_url: str) -> Opener:
        return partial(open_store, cassandra_url)


class TestCassandraBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, cassandra: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(cassandra.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork) -> Opener:
        return partial(opened_with_a_swap, fresh_table(network.port, "&timeout=5"))
