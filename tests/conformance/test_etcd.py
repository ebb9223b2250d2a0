"""`StoreSuite` and `NetworkSuite` on a real etcd."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.process import ServerProcess


class TestEtcd(StoreSuite):
    @pytest.fixture
    def opener(self, etcd_url: str) -> Opener:
        return partial(open_store, etcd_url)


class TestEtcdBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, etcd: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(etcd.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork) -> Opener:
        return partial(open_store, f"etcd://127.0.0.1:{network.port}/{uuid4()}?timeout=3")
