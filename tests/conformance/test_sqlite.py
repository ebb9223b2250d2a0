"""`StoreSuite` on SQLite, in both durabilities."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from graveler_core.kv.registry import open_store
from graveler_core.testing.store_suite import Opener, StoreSuite


class TestPower(StoreSuite):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return partial(open_store, f"sqlite:///{tmp_path}/kv.db")


class TestProcess(StoreSuite):
    @pytest.fixture
    def opener(self, tmp_path: Path) -> Opener:
        return partial(open_store, f"sqlite:///{tmp_path}/kv.db?durability=process")
