"""`StoreSuite` and `NetworkSuite` on a fake of MongoDB, which says of itself that it is a replica set."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from uuid import uuid4

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.mongodb import fresh_collection
from tests.servers.process import ServerProcess


class TestMongoDB(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """The first page of a scan has 1,000 rows. At most 5,000 are written or deleted at once."""
        return 6_003

    @pytest.fixture
    def opener(self, mongodb: ServerProcess) -> Opener:
        return partial(open_store, f"mongodb://127.0.0.1:{mongodb.port}/?replicaSet=fake&collection=t{uuid4().hex}")


class TestMongoDBBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, mongodb: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(mongodb.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork) -> Opener:
        return partial(open_store, fresh_collection(network.port, "&timeout=3"))
