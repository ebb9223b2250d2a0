"""`StoreSuite` on the store in memory."""

from __future__ import annotations

from functools import partial
from uuid import uuid4

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_suite import Opener, StoreSuite


class TestMemory(StoreSuite):
    @pytest.fixture
    def opener(self) -> Opener:
        return partial(open_store, f"memory://{uuid4()}")


class TestDefaults(StoreSuite):
    """A store that overrides no default method passes too."""

    @pytest.fixture
    def opener(self) -> Opener:
        url = f"memory://{uuid4()}"
        return lambda: PlainStore(open_store(url))
