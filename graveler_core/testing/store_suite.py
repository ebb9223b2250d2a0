"""Test suite for key-value stores: backends, wrappers and plug-ins.

The test class of a backend inherits it and defines the fixture `opener`:

    class TestMine(StoreSuite):
        @pytest.fixture
        def opener(self, tmp_path: Path) -> Opener:
            return lambda: open_mine(f"mine:///{tmp_path}/store")

Within a test, each call of `opener` opens the same data. Each test starts with empty data. No test of the suite may be
skipped, overridden or expected to fail. A class that tries this raises `TypeError` when it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from graveler_core.kv.store import Store
from graveler_core.testing.sealed import Sealed
from graveler_core.testing.store_cases.bulk import BulkCases
from graveler_core.testing.store_cases.crowds import CrowdCases
from graveler_core.testing.store_cases.handles import HandleCases
from graveler_core.testing.store_cases.large import LargeCases
from graveler_core.testing.store_cases.limits import LimitCases
from graveler_core.testing.store_cases.scans import MANY, ScanCases
from graveler_core.testing.store_cases.swaps import SwapCases
from graveler_core.testing.store_cases.threads import ThreadCases
from graveler_core.testing.store_cases.together import TogetherCases
from graveler_core.testing.store_cases.values import ValueCases

Opener = Callable[[], Store]


class StoreSuite(
    ValueCases,
    SwapCases,
    ThreadCases,
    CrowdCases,
    TogetherCases,
    ScanCases,
    BulkCases,
    LimitCases,
    LargeCases,
    HandleCases,
    metaclass=Sealed,
):
    """Tests of the interface `graveler_core.kv.store.Store`, both for overridden and for default methods."""

    @pytest.fixture
    def opener(self) -> Opener:
        """Return a function that opens the store. Subclasses define this fixture."""
        raise NotImplementedError("the test class of a store must define the fixture `opener`")

    @pytest.fixture
    def many(self) -> int:
        """Return the number of rows of tests with many rows. It needs several pages with page sizes up to 10,000.

        The test class of a store whose server is slow, and whose pages are smaller, can override this fixture.
        """
        return MANY

    @pytest.fixture
    def store(self, opener: Opener) -> Iterator[Store]:
        opened = opener()
        yield opened
        opened.close()
