"""`StoreSuite` and `NetworkSuite` on buckets: on moto's S3, and on obstore's store in memory, which is fast."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from obstore.store import MemoryStore

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.memory_bucket import memory_bucket
from tests.servers.process import ServerProcess
from tests.servers.s3 import fresh_bucket


class TestBucketInMemory(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """A page of a scan has 32 rows, then 128, 512 and 1,000."""
        return 703

    @pytest.fixture
    def opener(self) -> Opener:
        return partial(memory_bucket, MemoryStore())


class TestS3(StoreSuite):
    @pytest.fixture
    def many(self) -> int:
        """A page of a scan has 32 rows, then 128 and 512."""
        return 173

    @pytest.fixture
    def opener(self, s3_url: str) -> Opener:
        return partial(open_store, s3_url)


class TestS3BeyondANetwork(NetworkSuite):
    @pytest.fixture
    def network(self, s3_process: ServerProcess) -> Iterator[LossyNetwork]:
        with lossy_network(s3_process.port) as network:
            yield network

    @pytest.fixture
    def opener(self, s3_process: ServerProcess, network: LossyNetwork) -> Opener:
        url = fresh_bucket(s3_process.port, "&timeout=3s&max_retries=1")
        return partial(open_store, url.replace(f":{s3_process.port}", f":{network.port}"))
