"""`StoreSuite` on the counting wrapper, around a store with every ability and around one with none."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.kv.wrappers.counting import Counting
from graveler_core.testing.plain_store import PlainStore
from graveler_core.testing.store_suite import Opener, StoreSuite


class TestAroundAbilities(StoreSuite):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return lambda: Counting(open_store(f"sqlite:///{tmp_path}/kv.db?durability=process"))


class TestAroundNone(StoreSuite):
    @pytest.fixture
    def opener(self) -> Opener:
        url = f"memory://{uuid4()}"
        return lambda: Counting(PlainStore(open_store(url)))
