"""`StoreSuite` and `NetworkSuite` on DynamoDB Local."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.dynamodb import fresh_table
from tests.servers.process import ServerProcess


class TestDynamoDB(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """The first page of a scan has 1,000 rows. The server reads and deletes far fewer at once."""
        return 1_103

    @pytest.fixture
    def opener(self, dynamodb_url: str) -> Opener:
        return partial(open_store, dynamodb_url)


class TestDynamoDBBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, dynamodb: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(dynamodb.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork) -> Opener:
        return partial(open_store, fresh_table(network.port, "&timeout=3"))
