"""`StoreSuite` on a real PostgreSQL."""

from __future__ import annotations

from functools import partial

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.store_suite import Opener, StoreSuite


@pytest.mark.everyday
class TestPostgreSQL(StoreSuite):
    @pytest.fixture
    def opener(self, postgresql_url: str) -> Opener:
        return partial(open_store, postgresql_url)
