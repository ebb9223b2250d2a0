"""`StoreSuite` and `NetworkSuite` on the emulator of Bigtable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, suppress
from functools import partial
from threading import Thread
from time import sleep

import pytest

from graveler_core.errors import OutcomeUnknown, Unavailable
from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.chaotic_network import chaotic_network
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
        return partial(open_store, fresh_table(network.port, "&timeout=3"))


@pytest.mark.slow
def test_a_service_that_is_back_is_used_at_once(bigtable: ServerProcess) -> None:
    """By itself, gRPC would try again after a time that grows with the outage, and reaches two minutes."""
    with chaotic_network(bigtable.port, {}, seed=0) as network:
        url = fresh_table(bigtable.port, "&timeout=2").replace(f":{bigtable.port}", f":{network.port}")
        with closing(open_store(url)) as store:
            store.set(b"p", b"a", b"1")
            outage = Thread(target=network.refuse, args=(8,))
            outage.start()
            while outage.is_alive():
                with suppress(OutcomeUnknown, Unavailable):
                    store.set(b"p", b"a", b"2")
                sleep(0.1)
            sleep(1.5)
            store.set(b"p", b"a", b"3")
