"""`StoreSuite` and `NetworkSuite` on the emulator of Bigtable."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.bigtable import fresh_table
from tests.servers.process import ServerProcess


class TestBigtable(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """The first page of a scan has 1,000 rows. At most 5,000 are written or deleted at once."""
        return 6_003

    @pytest.fixture
    def opener(self, bigtable_url: str) -> Opener:
        return partial(open_store, bigtable_url)


class TestBigtableBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, bigtable: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(bigtable.port) as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork) -> Opener:
        return partial(open_store, fresh_table(network.port, "&timeout=1"))
