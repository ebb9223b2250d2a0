"""`StoreSuite` on a real MariaDB, and `NetworkSuite` on a network before it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.process import ServerProcess


class TestMySQL(StoreSuite):
    @pytest.fixture
    def opener(self, mysql_url: str) -> Opener:
        return partial(open_store, mysql_url)


class TestMySQLBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, mariadb: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(mariadb.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork, mysql_url: str, mariadb: ServerProcess) -> Opener:
        through = mysql_url.replace(f":{mariadb.port}/", f":{network.port}/")
        return partial(open_store, f"{through}?read_timeout=3")
