"""`StoreSuite` on a real Redis, and `NetworkSuite` on a network before it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.process import ServerProcess


class TestRedis(StoreSuite):
    @pytest.fixture
    def opener(self, redis_url: str) -> Opener:
        return partial(open_store, redis_url)


class TestRedisBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, redis: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(redis.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork, redis_url: str, redis: ServerProcess) -> Opener:
        through = redis_url.replace(f":{redis.port}/", f":{network.port}/")
        return partial(open_store, f"{through}&timeout=3")
