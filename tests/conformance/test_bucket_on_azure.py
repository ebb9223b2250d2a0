"""`StoreSuite` and `NetworkSuite` on Azurite. It needs npm and two minutes, so `./run test --all` runs them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from functools import partial

import pytest

from graveler_core import sweep_tombstones
from graveler_core.kv.registry import open_store
from graveler_core.kv.store import EXISTS
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.servers.azurite import azurite_server, fresh_container
from tests.servers.process import ServerProcess

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def azurite() -> Iterator[ServerProcess]:
    with azurite_server() as server:
        yield server


class TestAzure(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """A page of a scan has 32 rows, then 128, 512 and 1,000."""
        return 203

    @pytest.fixture
    def opener(self, azurite: ServerProcess) -> Opener:
        return partial(open_store, fresh_container(azurite.port, azurite.port))


class TestAzureBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, azurite: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(azurite.port) as network:
            yield network

    @pytest.fixture
    def opener(self, azurite: ServerProcess, network: LossyNetwork) -> Opener:
        return partial(open_store, fresh_container(azurite.port, network.port, "&timeout=3s&max_retries=1"))


def test_a_sweep_of_tombstones(azurite: ServerProcess) -> None:
    """Azure deletes an object only if it has the ETag of the condition."""
    url = fresh_container(azurite.port, azurite.port)
    with closing(open_store(url)) as store:
        for key in (b"a", b"b"):
            store.set(b"p", key, b"v")
            store.delete_if(b"p", key, EXISTS)
        store.set_if(b"p", b"a", b"again", None)
        assert sweep_tombstones(url) == 1
        assert sweep_tombstones(url) == 0
        store.set_if(b"p", b"b", b"again", None)
        assert [row.key for row in store.scan(b"p")] == [b"a", b"b"]
