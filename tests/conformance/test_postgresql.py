"""`StoreSuite` and `NetworkSuite` on a real PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from urllib.parse import parse_qsl, quote, urlsplit

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.lossy_network import LossyNetwork, lossy_network
from graveler_core.testing.network_suite import NetworkSuite
from graveler_core.testing.store_suite import Opener, StoreSuite
from tests.conformance.prepared import opened_with_a_swap


@pytest.mark.everyday
class TestPostgreSQL(StoreSuite):
    @pytest.fixture
    def opener(self, postgresql_url: str) -> Opener:
        return partial(open_store, postgresql_url)


class TestPostgreSQLBeyondANetwork(NetworkSuite):
    @pytest.fixture
    def options(self, postgresql_url: str) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(postgresql_url).query))

    @pytest.fixture
    def network(self, options: dict[str, str]) -> Iterator[LossyNetwork]:
        with lossy_network(f"{options['host']}/.s.PGSQL.5432") as network:
            yield network

    @pytest.fixture
    def opener(self, network: LossyNetwork, options: dict[str, str]) -> Opener:
        search_path = quote(options["options"])
        plain = "sslmode=disable&gssencmode=disable&connect_timeout=3&read_timeout=3"
        url = f"postgresql://postgres@127.0.0.1:{network.port}/postgres?options={search_path}&{plain}"
        return partial(opened_with_a_swap, url)
