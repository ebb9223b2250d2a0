"""One suite for every key-value store: backends, wrappers, plug-ins.

A backend's test class is a few lines:

    class TestMine(StoreSuite):
        @pytest.fixture
        def opener(self, tmp_path: Path) -> Opener:
            return lambda: open_mine(f"mine:///{tmp_path}/store")

`opener` opens the same data at each call, and other, empty data in each test. No test of the suite may be skipped,
overridden or expected to fail; making a class that tries raises TypeError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from graveler_core.kv.store import Store
from graveler_core.testing.sealed import Sealed
from graveler_core.testing.store_cases.bulk import BulkCases
from graveler_core.testing.store_cases.handles import HandleCases
from graveler_core.testing.store_cases.limits import LimitCases
from graveler_core.testing.store_cases.scans import ScanCases
from graveler_core.testing.store_cases.swaps import SwapCases
from graveler_core.testing.store_cases.threads import ThreadCases
from graveler_core.testing.store_cases.together import TogetherCases
from graveler_core.testing.store_cases.values import ValueCases

Opener = Callable[[], Store]


class StoreSuite(
    ValueCases,
    SwapCases,
    ThreadCases,
    TogetherCases,
    ScanCases,
    BulkCases,
    LimitCases,
    HandleCases,
    metaclass=Sealed,
):
    """What `graveler_core.kv.store.Store` and `graveler_core.kv.abilities` promise."""

    @pytest.fixture
    def opener(self) -> Opener:
        """To be offered by the subclass."""
        raise NotImplementedError("a store's test class offers the fixture `opener`")

    @pytest.fixture
    def store(self, opener: Opener) -> Iterator[Store]:
        opened = opener()
        yield opened
        opened.close()
